// "toy": a PrivateUse1 device in host memory, for tests of the workload map.
//
// It is what a young backend looks like: the structural kernels that no device can do without, a
// handful of native kernels, a CPU fallback for the rest that keeps count (the truth a detector is
// judged by), one operator that registers the fallback as its own kernel, and one kernel that
// copies to the host by hand, which no registration shows.
#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/alloc_cpu.h>
#include <torch/library.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

namespace {

using at::Tensor;
constexpr auto kToy = c10::DeviceType::PrivateUse1;

struct HostMemory final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* data = c10::alloc_cpu(bytes);
    return {data, data, &c10::free_cpu, c10::Device(kToy, 0)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &c10::free_cpu; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
};
HostMemory memory;
REGISTER_ALLOCATOR(kToy, &memory);

struct Guard final : c10::impl::DeviceGuardImplInterface {
  static constexpr c10::DeviceType static_type = kToy;
  Guard() = default;
  explicit Guard(c10::DeviceType) {}
  c10::DeviceType type() const override { return kToy; }
  c10::Device exchangeDevice(c10::Device) const override { return {kToy, 0}; }
  c10::Device getDevice() const override { return {kToy, 0}; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device) const override { return stream(); }
  c10::Stream getNewStream(c10::Device, int) const override { return stream(); }
  c10::Stream exchangeStream(c10::Stream s) const override { return s; }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  // backward asks for events even where nothing is asynchronous
  void destroyEvent(void*, const c10::DeviceIndex) const noexcept override {}
  void record(void**, const c10::Stream&, const c10::DeviceIndex,
              const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeEvent(void*) const override {}
  void synchronizeDevice(const c10::DeviceIndex) const override {}

 private:
  static c10::Stream stream() { return c10::Stream(c10::Stream::DEFAULT, {kToy, 0}); }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

struct Hooks final : at::PrivateUse1HooksInterface {
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
};
Hooks hooks;
const bool hooked = [] {
  at::RegisterPrivateUse1HooksInterface(&hooks);
  return true;
}();

// A CPU tensor over the same bytes.
Tensor host(const Tensor& t) {
  if (t.is_cpu()) return t;
  return at::for_blob(t.data_ptr(), t.sizes())
      .strides(t.strides())
      .options(at::TensorOptions().dtype(t.dtype()).device(at::kCPU))
      .make_tensor();
}

// ---- structural kernels
Tensor empty_memory_format(c10::IntArrayRef size, std::optional<at::ScalarType> dtype,
                           std::optional<at::Layout>, std::optional<at::Device>,
                           std::optional<bool>, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(size, &memory, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   at::dtype_or_default(dtype), format);
}
Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride,
                     std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                     std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(
      size, stride, &memory, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      at::dtype_or_default(dtype));
}
Tensor copy_from(const Tensor& self, const Tensor& dst, bool) {
  at::NoGradGuard no_grad;
  host(dst).copy_(host(self));
  return dst;
}
Tensor copy_from_and_resize(const Tensor& self, const Tensor& dst) {
  if (dst.sizes() != self.sizes()) dst.resize_(self.sizes());
  return copy_from(self, dst, false);
}
at::Scalar local_scalar_dense(const Tensor& self) { return host(self).item(); }
const Tensor& resize_(const Tensor& self, c10::SymIntArrayRef size,
                      std::optional<at::MemoryFormat>) {
  auto wanted = C10_AS_INTARRAYREF_SLOW(size);
  const size_t need =
      (c10::multiply_integers(wanted) + self.storage_offset()) * self.element_size();
  auto storage = self.storage();
  if (need > storage.nbytes()) {
    auto larger = memory.allocate(need);
    if (storage.nbytes()) std::memcpy(larger.get(), storage.data(), storage.nbytes());
    storage.set_data_ptr_noswap(std::move(larger));
    storage.set_nbytes(need);
  }
  self.unsafeGetTensorImpl()->set_sizes_contiguous(wanted);
  return self;
}
Tensor as_strided(const Tensor& self, c10::IntArrayRef size, c10::IntArrayRef stride,
                  std::optional<int64_t> offset) {
  return at::native::as_strided_tensorimpl(self, size, stride, offset);
}
Tensor view(const Tensor& self, c10::IntArrayRef size) { return at::native::view(self, size); }
Tensor reshape_alias(const Tensor& self, c10::IntArrayRef size, c10::IntArrayRef stride) {
  return at::native::_reshape_alias(self, size, stride);
}

// ---- native kernels: computed where the memory is, without the fallback
Tensor& mm_out(const Tensor& a, const Tensor& b, Tensor& out) {
  at::NoGradGuard no_grad;
  host(out).copy_(at::mm(host(a), host(b)));
  return out;
}
Tensor& addmm_out(const Tensor& c, const Tensor& a, const Tensor& b, const at::Scalar& beta,
                  const at::Scalar& alpha, Tensor& out) {
  at::NoGradGuard no_grad;
  host(out).copy_(at::addmm(host(c), host(a), host(b), beta, alpha));
  return out;
}
Tensor& add_out(const Tensor& a, const Tensor& b, const at::Scalar& alpha, Tensor& out) {
  at::NoGradGuard no_grad;
  host(out).copy_(at::add(host(a), host(b), alpha));
  return out;
}
Tensor& mul_out(const Tensor& a, const Tensor& b, Tensor& out) {
  at::NoGradGuard no_grad;
  host(out).copy_(at::mul(host(a), host(b)));
  return out;
}
// a hidden fallback: works on a copy in CPU memory and brings the result back
Tensor& sigmoid_out(const Tensor& self, Tensor& out) {
  at::NoGradGuard no_grad;
  out.copy_(at::sigmoid(self.to(at::kCPU)));
  return out;
}

// ---- the fallback, which counts
std::mutex guard_of_seen;
std::map<std::string, int64_t> seen;
std::set<std::string> refused;

void counting_fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  auto name = schema.name();
  if (!schema.overload_name().empty()) name += "." + schema.overload_name();
  {
    std::lock_guard<std::mutex> hold(guard_of_seen);
    TORCH_CHECK_NOT_IMPLEMENTED(!refused.count(name), "toy: no kernel and no fallback for ", name);
    seen[name]++;
  }
  at::native::cpu_fallback(op, stack);
}

std::string take_fallbacks() {
  std::lock_guard<std::mutex> hold(guard_of_seen);
  std::ostringstream lines;
  for (const auto& [name, count] : seen) lines << name << ' ' << count << '\n';
  seen.clear();
  return lines.str();
}
void refuse(std::string name) {
  std::lock_guard<std::mutex> hold(guard_of_seen);
  refused.insert(std::move(name));
}

}  // namespace

TORCH_LIBRARY(toy, m) {
  m.def("take_fallbacks() -> str", &take_fallbacks);
  m.def("refuse(str name) -> ()", &refuse);
}
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty_memory_format);
  m.impl("empty_strided", &empty_strided);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("_local_scalar_dense", &local_scalar_dense);
  m.impl("resize_", &resize_);
  m.impl("as_strided", &as_strided);
  m.impl("view", &view);
  m.impl("_reshape_alias", &reshape_alias);
  // TOY_WITHOUT names those of the native kernels that this backend does not have
  const char* stated = std::getenv("TOY_WITHOUT");
  const std::string without = stated ? std::string(",") + stated + "," : "";
  auto has = [&](const char* name) {
    return without.find("," + std::string(name) + ",") == std::string::npos;
  };
  if (has("mm.out")) m.impl("mm.out", &mm_out);
  if (has("addmm.out")) m.impl("addmm.out", &addmm_out);
  if (has("add.out")) m.impl("add.out", &add_out);
  if (has("mul.out")) m.impl("mul.out", &mul_out);
  if (has("sigmoid.out")) m.impl("sigmoid.out", &sigmoid_out);
  // a fallback registered as an operator's own kernel, as torch-xpu-ops does for some
  m.impl("erfinv.out", torch::CppFunction::makeFromBoxedFunction<&counting_fallback>());
}
TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&counting_fallback>());
}
