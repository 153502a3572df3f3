; Stands for libdevice: a function that is used and one that is not.
target triple = "nvptx64-nvidia-gpulibs"

define float @__nv_triple(float %x) {
  %y = call float @helper(float %x)
  ret float %y
}
define internal float @helper(float %x) noinline {
  %y = fmul float %x, 3.0
  ret float %y
}
define float @__nv_unused(float %x) {
  ret float %x
}
