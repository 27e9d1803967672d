# Each tests/test_LAYER_*.c is one Check program, linked with its layer and what lies below it.
# Without Check the program builds all the same; ./harness/test installs it first, and ctest without tests is an error.
pkg_check_modules(CHECK IMPORTED_TARGET check)
if(NOT CHECK_FOUND)
  message(STATUS "Check: not found; the tests are left out")
  return()
endif()
file(GLOB test_sources CONFIGURE_DEPENDS tests/test_*.c)

# The second opinion on contract TC counts in arbitrary-precision integers: no GMP, no such tests.
pkg_check_modules(GMP IMPORTED_TARGET gmp)
if(GMP_FOUND)
  add_library(samebits_tc_exact STATIC tests/tc_exact.c)
  target_link_libraries(samebits_tc_exact PUBLIC samebits_options PkgConfig::GMP)
else()
  message(STATUS "GMP: not found; the tests of contract TC in exact integers (test_ref_*exact*) are left out")
  list(FILTER test_sources EXCLUDE REGEX "/test_ref_[^/]*exact[^/]*\\.c$")
  add_test(NAME test_ref_tc_exact COMMAND sh -c "echo 'GMP was not found'; exit 77") # seen in the list as skipped
  set_tests_properties(test_ref_tc_exact PROPERTIES SKIP_RETURN_CODE 77)
endif()

foreach(source IN LISTS test_sources)
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "^test_([a-z]+).*$" "\\1" layer ${name})
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE samebits_${layer} PkgConfig::CHECK)
  if(name MATCHES "^test_ref_.*exact")
    target_link_libraries(${name} PRIVATE samebits_tc_exact)
  endif()
  if(name STREQUAL "test_gpu_tc_step")
    target_link_libraries(${name} PRIVATE samebits_golden) # the classes of operands
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "CK_DEFAULT_TIMEOUT=600" TIMEOUT 1800)
endforeach()

# The sanitizers' build runs the Check programs alone.
option(SAMEBITS_SCRIPT_TESTS "Test scripts beside the Check programs" ON)
if(NOT SAMEBITS_SCRIPT_TESTS)
  return()
endif()

# script_test(NAME SECONDS COMMAND...). The limits are there to end a hang, not to judge a busy machine.
function(script_test name seconds)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${seconds} SKIP_RETURN_CODE 77)
endfunction()

set(scripts ${CMAKE_SOURCE_DIR}/tests)
set(python /usr/bin/python3) # Debian's, which has h5py
script_test(lint 1800 ${scripts}/lint.sh $<TARGET_FILE:samebits> ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
script_test(statuses 1200 ${scripts}/statuses.sh $<TARGET_FILE:samebits>)
script_test(probe 1200 ${scripts}/probe.sh $<TARGET_FILE:samebits>)
script_test(silicon 600 ${scripts}/silicon.sh $<TARGET_FILE:samebits> ${CMAKE_SOURCE_DIR}/golden/silicon)
script_test(bench 900 ${scripts}/bench.sh $<TARGET_FILE:samebits>)
script_test(peers 900 ${scripts}/peers.sh $<TARGET_FILE:samebits> ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
script_test(sass 900 ${python} ${scripts}/sass.py $<TARGET_FILE:samebits_gpu> images:${targets_text}
  ${CMAKE_BINARY_DIR}/tools)
script_test(sass_self_test 60 ${python} ${scripts}/sass.py --self-test ${CMAKE_C_COMPILER})
script_test(planted 1800 ${python} ${scripts}/planted.py ${CMAKE_SOURCE_DIR} ${CMAKE_C_COMPILER} ${OpenMP_C_FLAGS})
script_test(determinism 1800 ${scripts}/determinism.sh $<TARGET_FILE:samebits> ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
script_test(standard 2400 ${scripts}/standard.sh $<TARGET_FILE:samebits> ${CMAKE_SOURCE_DIR})
script_test(sanitizers 3000 ${scripts}/sanitizers.sh $<TARGET_FILE:samebits> ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
script_test(compute_sanitizer 3000 ${scripts}/compute_sanitizer.sh $<TARGET_FILE:samebits>)
script_test(recompute_self_test 900 ${python} ${scripts}/recompute.py --self-test)
script_test(recompute_smoke 600 ${python} ${scripts}/recompute.py ${CMAKE_SOURCE_DIR}/golden/smoke)
script_test(readme_commands 1800 ${python} ${scripts}/readme.py ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} commands)
script_test(readme_add_op 1800 ${python} ${scripts}/readme.py ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} add-op)
# They run ./harness/gate or cmake, which may link the program again while others use it.
set_tests_properties(readme_commands peers PROPERTIES RUN_SERIAL TRUE)
