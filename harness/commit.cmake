# Writes commit.h: the commit the tree stands at, "-dirty" when a file that is built differs from it or is not in it.
# A tree that is no repository itself, such as an unpacked archive inside one, has no commit: "unknown".
cmake_minimum_required(VERSION 3.22)
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-toplevel OUTPUT_VARIABLE top
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
get_filename_component(top "${top}" REALPATH)
get_filename_component(here "${SOURCE}" REALPATH)
if(failed OR NOT top STREQUAL here)
  set(commit "unknown")
else()
  execute_process(COMMAND git -C ${SOURCE} status --porcelain -- ref golden gpu harness reports CMakeLists.txt
                  OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    set(commit "${commit}-dirty")
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define SAMEBITS_COMMIT \"@commit@\"\n" @ONLY)
