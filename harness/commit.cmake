# Writes commit.h: the commit the tree stands at, "-dirty" when tracked files differ from it.
cmake_minimum_required(VERSION 3.22)
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "unknown")
else()
  execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    set(commit "${commit}-dirty")
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define SAMEBITS_COMMIT \"@commit@\"\n" @ONLY)
