# The CUDA library and its targets, by explicit -gencode: CMake 3.25 refuses the family names (100f), and the
# -arch shorthands embed plain PTX of bodies that a feature macro has emptied, which later GPUs would run.
set(SAMEBITS_HAVE_CUDA OFF)
set(SAMEBITS_CUDA_TARGETS "")
set(SAMEBITS_CUDA_COMPILER "none")

if(SAMEBITS_CUDA)
  include(CheckLanguage)
  set(CMAKE_CUDA_ARCHITECTURES OFF)
  find_program(SAMEBITS_NVCC nvcc PATHS /usr/local/cuda/bin) # PATH first: the user's choice
  if(SAMEBITS_NVCC AND NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    set(ENV{CUDACXX} ${SAMEBITS_NVCC})
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    set(SAMEBITS_HAVE_CUDA ON)
  elseif(SAMEBITS_NVCC)
    message(WARNING "${SAMEBITS_NVCC} cannot compile (is g++ installed, of a version it accepts?): the kernels are left "
                    "out. The reason is in CMakeFiles/CMakeError.log or CMakeConfigureLog.yaml.")
  endif()
endif()

# name|first toolkit|gencode arch|codes: the toolkit version that first knows the target.
set(known_targets
  "90a|12.0|compute_90a|sm_90a"
  "100f|12.9|compute_100f|sm_100f,sm_103f"
  "120f|12.9|compute_120f|sm_120f,sm_121f,compute_120f")

if(SAMEBITS_HAVE_CUDA)
  set(CMAKE_CUDA_STANDARD 17)
  set(SAMEBITS_CUDA_COMPILER "nvcc ${CMAKE_CUDA_COMPILER_VERSION}")
  set(gencode "")
  foreach(entry IN LISTS known_targets)
    string(REPLACE "|" ";" entry "${entry}")
    list(GET entry 0 name)
    list(GET entry 1 first)
    list(GET entry 2 arch)
    list(GET entry 3 codes)
    if(SAMEBITS_TARGETS STREQUAL "auto")
      if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS ${first})
        message(STATUS "CUDA target ${name}: left out, needs nvcc ${first}")
        continue()
      endif()
    elseif(NOT name IN_LIST SAMEBITS_TARGETS)
      continue()
    endif()
    list(APPEND gencode "SHELL:-gencode arch=${arch},code=[${codes}]")
    string(REGEX MATCHALL "sm_[0-9]+[af]?" images "${codes}")
    list(APPEND SAMEBITS_CUDA_TARGETS ${images})
  endforeach()
  foreach(name IN LISTS SAMEBITS_TARGETS) # a plain or unlisted target, as the user wrote it: "89", "80"
    if(NOT name MATCHES "^(auto|90a|100f|120f)$")
      list(APPEND gencode "SHELL:-gencode arch=compute_${name},code=sm_${name}")
      list(APPEND SAMEBITS_CUDA_TARGETS sm_${name})
    endif()
  endforeach()
  if(NOT SAMEBITS_CUDA_TARGETS AND SAMEBITS_TARGETS STREQUAL "auto")
    message(WARNING "nvcc ${CMAKE_CUDA_COMPILER_VERSION} knows none of the targets: the kernels are left out. Install CUDA "
                    "12.9 or later, or name a target that it knows: -DSAMEBITS_TARGETS=89")
    set(SAMEBITS_HAVE_CUDA OFF)
    set(SAMEBITS_CUDA_COMPILER "none")
  elseif(NOT SAMEBITS_CUDA_TARGETS)
    message(FATAL_ERROR "SAMEBITS_TARGETS=${SAMEBITS_TARGETS} selects no CUDA target")
  endif()
endif()

if(SAMEBITS_HAVE_CUDA)
  message(STATUS "CUDA targets: ${SAMEBITS_CUDA_TARGETS}")

  find_package(CUDAToolkit REQUIRED)
  file(GLOB gpu_sources CONFIGURE_DEPENDS gpu/*.cu gpu/*.c)
  add_library(samebits_gpu STATIC ${gpu_sources})
  target_compile_options(samebits_gpu PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${gencode}>"
    "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcompiler -Wall,-Wextra,-Wno-unused-parameter -lineinfo>")
  if(SAMEBITS_WERROR)
    target_compile_options(samebits_gpu PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Werror all-warnings>")
  endif()
  set_target_properties(samebits_gpu PROPERTIES CUDA_ARCHITECTURES OFF CUDA_SEPARABLE_COMPILATION OFF)
  target_link_libraries(samebits_gpu PUBLIC samebits_ref CUDA::cudart_static)
  target_compile_definitions(samebits_gpu PUBLIC SAMEBITS_HAVE_CUDA=1)

  # The typed launch functions for programs that are not C, such as harness/peers.py; built when asked for by name. The
  # runtime inside stays out of sight: the program that loads the library has one of its own.
  set_target_properties(samebits_gpu PROPERTIES POSITION_INDEPENDENT_CODE ON)
  add_library(samebits_kernels SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:samebits_gpu> ${ref_sources})
  target_link_libraries(samebits_kernels PRIVATE samebits_options CUDA::cudart_static)
  target_link_options(samebits_kernels PRIVATE "LINKER:--exclude-libs,ALL" "LINKER:-z,defs")
  if(OpenMP_C_FOUND)
    target_link_libraries(samebits_kernels PRIVATE OpenMP::OpenMP_C)
  endif()
else()
  message(STATUS "CUDA: not found or turned off; the kernels are left out and reports say so")
  file(GLOB gpu_sources CONFIGURE_DEPENDS gpu/*.c)
  add_library(samebits_gpu STATIC ${gpu_sources})
  target_link_libraries(samebits_gpu PUBLIC samebits_ref)
endif()
list(JOIN SAMEBITS_CUDA_TARGETS "," targets_text)
target_compile_definitions(samebits_gpu PUBLIC
  SAMEBITS_CUDA_TARGETS="${targets_text}" SAMEBITS_CUDA_COMPILER="${SAMEBITS_CUDA_COMPILER}")
