// The null device: a PrivateUse1 backend on host memory that owns next to nothing. Everything a
// workload needs of a device reaches `leaf` below, is written down with its arguments, and is
// computed on the CPU. What was seen is exactly what a backend must own.
//
// Told a manifest, it stands for a device that has those kernels (a ghost); told to be strict, it
// refuses everything that is not allowed. Needs no Python: it is loaded by torch.ops.load_library.

#include <ATen/EmptyTensor.h>
#include <ATen/TensorOperators.h>
#include <ATen/SequenceNumber.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_copy_from_ops.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/histc.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <ATen/ops/zeros_like.h>
#include <ATen/record_function.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/alloc_cpu.h>
#include <torch/csrc/autograd/function.h>
#include <torch/library.h>

#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

namespace {

constexpr c10::DeviceType kNull = c10::DeviceType::PrivateUse1;
constexpr size_t kTensors = 12;  // of a call that are written down

std::mutex mutex;
std::unordered_map<std::string, int64_t> seen;           // kind op part module spec -> calls
std::map<std::string, std::set<std::string>> composites;  // operator -> leaves below it
std::map<std::string, std::string> broken;                // operator -> why the CPU refused it
std::unordered_set<std::string> allowed;
bool strict = false;
bool recording = false;
std::string part = "forward";
std::string module_path;
std::vector<std::pair<uint64_t, std::string>> scopes;  // first autograd sequence number -> module

thread_local int on_host = 0;  // inside a computation on the CPU, which nobody asked about
thread_local std::vector<std::string> calls;

struct OnHost {
  OnHost() { ++on_host; }
  ~OnHost() { --on_host; }
};

std::string name_of(const c10::OperatorName& name) {
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

void describe(std::ostream& out, const at::Tensor& t) {
  if (!t.defined()) {
    out << "none";
    return;
  }
  out << c10::toString(t.scalar_type()) << "[";
  for (int64_t i = 0; i < t.dim(); ++i) out << (i ? "," : "") << t.size(i);
  out << "]";
  if (!t.is_contiguous()) {
    out << "{";
    for (int64_t i = 0; i < t.dim(); ++i) out << (i ? "," : "") << t.stride(i);
    out << "}";
  }
}

std::string spec_of(const torch::jit::Stack& stack, size_t arguments) {
  std::ostringstream out;
  size_t count = 0;
  auto add = [&](const at::Tensor& t) {
    if (count++ < kTensors) describe(out << (count > 1 ? " " : ""), t);
  };
  for (size_t i = stack.size() - arguments; i < stack.size(); ++i) {
    const auto& value = stack[i];
    if (value.isTensor()) add(value.toTensor());
    else if (value.isTensorList()) for (const at::Tensor& t : value.toTensorVector()) add(t);
  }
  if (count > kTensors) out << " +" << count - kTensors;
  return out.str();
}

// Where the module was that made the autograd node running now.
std::string module_now() {
  auto node = torch::autograd::get_current_node();
  if (!node) return module_path;
  auto at = std::upper_bound(
      scopes.begin(), scopes.end(), node->sequence_nr(),
      [](uint64_t value, const auto& scope) { return value < scope.first; });
  return at == scopes.begin() ? "" : std::prev(at)->second;
}

void note(char kind, const std::string& op, const std::string& spec) {
  std::lock_guard<std::mutex> lock(mutex);
  if (recording) {
    seen[std::string(1, kind) + "\t" + op + "\t" + part + "\t" + module_now() + "\t" + spec]++;
    for (const auto& call : calls)
      if (call != op) composites[call].insert(op);
  }
  if (strict && !allowed.count(op))
    TORCH_CHECK_NOT_IMPLEMENTED(false, "null device: no kernel for ", op);
}

void note_structural(const char* op, std::initializer_list<at::Tensor> tensors = {}) {
  if (on_host) return;
  std::ostringstream out;
  for (const auto& t : tensors) describe(out << (out.tellp() > 0 ? " " : ""), t);
  std::lock_guard<std::mutex> lock(mutex);
  if (recording)
    seen["S\taten::" + std::string(op) + "\t" + part + "\t" + module_now() + "\t" + out.str()]++;
}

void run_on_host(const c10::OperatorHandle& op, torch::jit::Stack* stack, const std::string& name) {
  OnHost guard;
  try {
    at::native::cpu_fallback(op, stack);
  } catch (const std::exception& error) {
    std::lock_guard<std::mutex> lock(mutex);
    std::string line(error.what());
    broken[name] = line.substr(0, line.find_first_of("\n\t"));
    throw;
  }
}

void leaf(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  auto name = name_of(op.operator_name());
  if (!on_host) note('L', name, spec_of(*stack, op.schema().arguments().size()));
  run_on_host(op, stack, name);
}

void native(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  auto name = name_of(op.operator_name());
  if (!on_host) {
    auto spec = spec_of(*stack, op.schema().arguments().size());
    std::lock_guard<std::mutex> lock(mutex);
    if (recording) {
      seen["N\t" + name + "\t" + part + "\t" + module_now() + "\t" + spec]++;
      for (const auto& call : calls)
        if (call != name) composites[call].insert(name);
    }
  }
  run_on_host(op, stack, name);
}

// ---- the device: an allocator, a guard, hooks

struct Allocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* data = c10::alloc_cpu(bytes);
    return {data, data, &c10::free_cpu, c10::Device(kNull, 0)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &c10::free_cpu; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    memcpy(to, from, bytes);
  }
};
Allocator allocator;
REGISTER_ALLOCATOR(kNull, &allocator)

struct Guard final : c10::impl::DeviceGuardImplInterface {
  static constexpr c10::DeviceType static_type = kNull;
  Guard() = default;
  explicit Guard(c10::DeviceType) {}
  c10::DeviceType type() const override { return kNull; }
  c10::Device exchangeDevice(c10::Device) const override { return {kNull, 0}; }
  c10::Device getDevice() const override { return {kNull, 0}; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device) const override {
    return c10::Stream(c10::Stream::DEFAULT, {kNull, 0});
  }
  c10::Stream getNewStream(c10::Device, int) const override {
    return c10::Stream(c10::Stream::DEFAULT, {kNull, 0});
  }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  void destroyEvent(void*, const c10::DeviceIndex) const noexcept override {}
  void record(void**, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag)
      const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeEvent(void*) const override {}
  void synchronizeDevice(const c10::DeviceIndex) const override {}
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

struct Hooks final : at::PrivateUse1HooksInterface {
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
};
Hooks hooks;
[[maybe_unused]] bool registered = [] {
  at::RegisterPrivateUse1HooksInterface(&hooks);
  return true;
}();

at::Tensor host(const at::Tensor& t) {  // the same memory, seen from the CPU
  if (t.is_cpu()) return t;
  auto options = at::TensorOptions().dtype(t.dtype()).device(at::kCPU);
  auto made =
      at::for_blob(t.data_ptr(), t.sizes()).strides(t.strides()).options(options).make_tensor();
  made._set_conj(t.is_conj());
  made._set_neg(t.is_neg());
  return made;
}

// ---- the structural kernels, without which there is no tensor

at::Tensor empty(c10::IntArrayRef size, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>,
                 std::optional<at::MemoryFormat> format) {
  note_structural("empty.memory_format");
  c10::DispatchKeySet keys(c10::DispatchKey::PrivateUse1);
  return at::detail::empty_generic(size, &allocator, keys, at::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride,
                         std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                         std::optional<at::Device>, std::optional<bool>) {
  note_structural("empty_strided");
  c10::DispatchKeySet keys(c10::DispatchKey::PrivateUse1);
  return at::detail::empty_strided_generic(size, stride, &allocator, keys,
                                           at::dtype_or_default(dtype));
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& to, bool) {
  note_structural("_copy_from", {self, to});
  OnHost guard;
  at::NoGradGuard no_grad;
  host(to).copy_(host(self));
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& to) {
  note_structural("_copy_from_and_resize", {self, to});
  OnHost guard;
  at::NoGradGuard no_grad;
  if (to.sizes() != self.sizes()) to.resize_(self.sizes());
  host(to).copy_(host(self));
  return to;
}

at::Scalar local_scalar_dense(const at::Tensor& self) {
  note_structural("_local_scalar_dense", {self});
  OnHost guard;
  return host(self).item();
}

const at::Tensor& resize_(const at::Tensor& self, c10::SymIntArrayRef symbolic,
                          std::optional<at::MemoryFormat>) {
  note_structural("resize_", {self});
  auto size = C10_AS_INTARRAYREF_SLOW(symbolic);
  auto* impl = self.unsafeGetTensorImpl();
  int64_t numel = 1;
  for (auto extent : size) numel *= extent;
  size_t bytes = (numel + self.storage_offset()) * self.element_size();
  if (bytes > self.storage().nbytes()) {
    auto storage = self.storage();
    auto grown = allocator.allocate(bytes);
    if (storage.nbytes()) memcpy(grown.get(), storage.data(), storage.nbytes());
    storage.set_data_ptr_noswap(std::move(grown));
    storage.set_nbytes(bytes);
  }
  impl->set_sizes_contiguous(size);
  return self;
}

at::Tensor as_strided(const at::Tensor& self, c10::IntArrayRef size, c10::IntArrayRef stride,
                      std::optional<int64_t> offset) {
  note_structural("as_strided", {self});
  return at::native::as_strided_tensorimpl(self, size, stride, offset);
}

at::Tensor view(const at::Tensor& self, c10::IntArrayRef size) {
  note_structural("view", {self});
  return at::native::view(self, size);
}

at::Tensor reshape_alias(const at::Tensor& self, c10::IntArrayRef size, c10::IntArrayRef stride) {
  note_structural("_reshape_alias", {self});
  return at::native::_reshape_alias(self, size, stride);
}

at::Tensor unfold(const at::Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  note_structural("unfold", {self});
  return at::native::unfold(self, dimension, size, step);
}

at::Tensor& set_storage(at::Tensor& self, at::Storage source, int64_t offset,
                        c10::IntArrayRef size, c10::IntArrayRef stride) {
  note_structural("set_.source_Storage_storage_offset", {self});
  return at::native::set_storage_cpu_(self, source, offset, size, stride);
}

// ---- what throws on any device that does not bring its own, whatever fallback it has

at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias, at::IntArrayRef stride,
                       at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                       at::IntArrayRef output_padding, int64_t groups) {
  std::ostringstream spec;
  describe(spec, input);
  describe(spec << " ", weight);
  note('H', "aten::convolution_overrideable", spec.str());
  OnHost guard;
  at::NoGradGuard no_grad;
  std::optional<at::Tensor> on_host_bias;
  if (bias && bias->defined()) on_host_bias = host(*bias);
  return at::convolution(host(input), host(weight), on_host_bias, stride, padding, dilation,
                         transposed, output_padding, groups)
      .to(input.device());
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(
    const at::Tensor& gradient, const at::Tensor& input, const at::Tensor& weight,
    at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
    at::IntArrayRef output_padding, int64_t groups, std::array<bool, 3> mask) {
  std::ostringstream spec;
  describe(spec, gradient);
  describe(spec << " ", weight);
  note('H', "aten::convolution_backward_overrideable", spec.str());
  OnHost guard;
  at::NoGradGuard no_grad;
  std::vector<int64_t> bias_size{transposed ? weight.size(1) * groups : weight.size(0)};
  auto found = at::convolution_backward(host(gradient), host(input), host(weight),
                                        at::OptionalIntArrayRef(bias_size), stride, padding,
                                        dilation, transposed, output_padding, groups, mask);
  auto back = [&](const at::Tensor& t) { return t.defined() ? t.to(input.device()) : t; };
  return {back(std::get<0>(found)), back(std::get<1>(found)), back(std::get<2>(found))};
}

at::Tensor histc(const at::Tensor& self, int64_t bins, const at::Scalar& low,
                 const at::Scalar& high) {
  std::ostringstream spec;
  describe(spec, self);
  bool integral = at::isIntegralType(self.scalar_type(), true);
  note(integral ? 'H' : 'L', "aten::histc", spec.str());
  OnHost guard;
  at::NoGradGuard no_grad;
  auto from = host(self);
  if (integral) {  // the CPU has no such kernel, so no fallback helps
    from = from.to(at::kDouble);
    std::lock_guard<std::mutex> lock(mutex);
    broken["aten::histc"] = "the CPU has no kernel for integers";
  }
  return at::histc(from, bins, low, high).to(self.scalar_type()).to(self.device());
}

at::Tensor fused(const char* op, const at::Tensor& gates, std::initializer_list<at::Tensor> rest) {
  std::ostringstream spec;
  describe(spec, gates);
  for (const auto& t : rest) describe(spec << " ", t);
  note('H', op, spec.str());
  return host(gates);
}

at::Tensor added(const at::Tensor& gates, const std::optional<at::Tensor>& bias) {
  return bias && bias->defined() ? gates + host(*bias) : gates;
}

using Two = std::tuple<at::Tensor, at::Tensor>;
using Three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using Five = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

Three lstm_cell(const at::Tensor& input, const at::Tensor& hidden, const at::Tensor& cx,
                const std::optional<at::Tensor>& input_bias,
                const std::optional<at::Tensor>& hidden_bias) {
  auto from_input = fused("aten::_thnn_fused_lstm_cell", input, {hidden, cx});
  OnHost guard;
  at::NoGradGuard no_grad;
  auto gates = (added(from_input, input_bias) + added(host(hidden), hidden_bias)).chunk(4, 1);
  auto in = gates[0].sigmoid(), forget = gates[1].sigmoid();
  auto cell = gates[2].tanh(), out = gates[3].sigmoid();
  auto cy = forget * host(cx) + in * cell;
  auto kept = at::cat({in, forget, cell, out}, 1);
  auto there = input.device();
  return {(out * cy.tanh()).to(there), cy.to(there), kept.to(there)};
}

Three lstm_cell_backward(const std::optional<at::Tensor>& grad_hy,
                         const std::optional<at::Tensor>& grad_cy, const at::Tensor& cx,
                         const at::Tensor& cy, const at::Tensor& kept, bool has_bias) {
  bool of_hy = grad_hy && grad_hy->defined(), of_cy = grad_cy && grad_cy->defined();
  if (!of_hy && !of_cy) return {};
  auto gates = fused("aten::_thnn_fused_lstm_cell_backward_impl", kept, {cx, cy}).chunk(4, 1);
  OnHost guard;
  at::NoGradGuard no_grad;
  auto in = gates[0], forget = gates[1], cell = gates[2], out = gates[3];
  at::Tensor tanh = host(cy).tanh();
  auto of_hidden = of_hy ? host(*grad_hy) : at::zeros_like(tanh);
  auto of_cell = of_hidden * out * (1 - tanh * tanh);
  if (of_cy) of_cell = of_cell + host(*grad_cy);
  auto found = at::cat({of_cell * cell * in * (1 - in), of_cell * host(cx) * forget * (1 - forget),
                        of_cell * in * (1 - cell * cell), of_hidden * tanh * out * (1 - out)},
                       1);
  auto there = kept.device();
  auto bias = has_bias ? found.sum(0).to(there) : at::Tensor();
  return {found.to(there), (of_cell * forget).to(there), bias};
}

Two gru_cell(const at::Tensor& input, const at::Tensor& hidden, const at::Tensor& hx,
             const std::optional<at::Tensor>& input_bias,
             const std::optional<at::Tensor>& hidden_bias) {
  auto from_input = fused("aten::_thnn_fused_gru_cell", input, {hidden, hx});
  OnHost guard;
  at::NoGradGuard no_grad;
  auto one = added(from_input, input_bias).chunk(3, 1);
  auto other = added(host(hidden), hidden_bias).chunk(3, 1);
  auto reset = (one[0] + other[0]).sigmoid(), update = (one[1] + other[1]).sigmoid();
  auto fresh = (one[2] + reset * other[2]).tanh();
  auto hy = fresh + update * (host(hx) - fresh);
  auto kept = at::cat({reset, update, fresh, host(hx), other[2]}, 1);
  return {hy.to(input.device()), kept.to(input.device())};
}

Five gru_cell_backward(const at::Tensor& gradient, const at::Tensor& kept, bool has_bias) {
  auto parts = fused("aten::_thnn_fused_gru_cell_backward", kept, {gradient}).chunk(5, 1);
  OnHost guard;
  at::NoGradGuard no_grad;
  auto reset = parts[0], update = parts[1], fresh = parts[2], of_hy = host(gradient);
  auto of_fresh = of_hy * (1 - update) * (1 - fresh * fresh);
  auto of_update = of_hy * (parts[3] - fresh) * update * (1 - update);
  auto of_reset = of_fresh * parts[4] * reset * (1 - reset);
  auto of_input = at::cat({of_reset, of_update, of_fresh}, 1);
  auto of_hidden = at::cat({of_reset, of_update, of_fresh * reset}, 1);
  auto there = kept.device();
  auto bias = [&](const at::Tensor& t) { return has_bias ? t.sum(0).to(there) : at::Tensor(); };
  return {of_input.to(there), of_hidden.to(there), (of_hy * update).to(there), bias(of_input),
          bias(of_hidden)};
}

// ---- which operator ends in which leaves

struct Entered final : at::ObserverContext {};

std::unique_ptr<at::ObserverContext> enter(const at::RecordFunction& function) {
  auto name = function.operator_name();
  if (on_host || !name) return nullptr;
  calls.push_back(name_of(*name));
  return std::make_unique<Entered>();
}

void leave(const at::RecordFunction&, at::ObserverContext* context) {
  if (context && !calls.empty()) calls.pop_back();
}

at::CallbackHandle callback = 0;

void record(bool on) {
  if (on && !callback)
    callback = at::addGlobalCallback(at::RecordFunctionCallback(enter, leave).scopes(
        {at::RecordScope::FUNCTION}));
  if (!on && callback) {
    at::removeCallback(callback);
    callback = 0;
  }
  std::lock_guard<std::mutex> lock(mutex);
  recording = on;
}

// ---- what Python asks

std::vector<std::unique_ptr<torch::Library>> libraries;

bool returns_view(const c10::FunctionSchema& schema) {
  for (const auto& one : schema.returns())
    if (one.alias_info() && !one.alias_info()->isWrite()) return true;
  return false;
}

// Stand for kernels that the target owns; the answer is those that could not be stood for.
std::vector<std::string> load(std::vector<std::string> ops) {
  std::vector<std::string> left;
  std::map<std::string, torch::Library*> by_namespace;
  for (const auto& full : ops) {
    auto colons = full.find("::");
    auto dot = full.find('.', colons);
    c10::OperatorName name(full.substr(0, dot),
                           dot == std::string::npos ? "" : full.substr(dot + 1));
    auto found = c10::Dispatcher::singleton().findOp(name);
    if (!found || !found->hasSchema()) continue;
    if (found->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1)) continue;
    if (returns_view(found->schema())) continue;
    if (!found->hasComputedKernelForDispatchKey(c10::DispatchKey::CPU)) {
      left.push_back(full);
      continue;
    }
    auto space = full.substr(0, colons);
    auto& library = by_namespace[space];
    if (!library) {
      libraries.push_back(std::make_unique<torch::Library>(
          torch::Library::IMPL, space, c10::DispatchKey::PrivateUse1, __FILE__, __LINE__));
      library = libraries.back().get();
    }
    library->impl(full.substr(colons + 2).c_str(),
                  torch::CppFunction::makeFromBoxedFunction<&native>());
  }
  return left;
}

void note_native(std::string op) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!recording) return;
  seen["N\t" + op + "\t" + part + "\t" + module_now() + "\t"]++;
  for (const auto& call : calls)
    if (call != op) composites[call].insert(op);
}

void restrict_to(std::vector<std::string> ops) {
  std::lock_guard<std::mutex> lock(mutex);
  allowed = std::unordered_set<std::string>(ops.begin(), ops.end());
  strict = true;
}

void unrestrict() {
  std::lock_guard<std::mutex> lock(mutex);
  strict = false;
}

void set_part(std::string name) {
  std::lock_guard<std::mutex> lock(mutex);
  part = std::move(name);
}

void set_module(std::string name) {
  for (char& letter : name)
    if (letter == '\t' || letter == '\n' || letter == '\r') letter = ' ';
  std::lock_guard<std::mutex> lock(mutex);
  module_path = std::move(name);
  scopes.emplace_back(at::sequence_number::peek(), module_path);
}

// Everything seen since the last time, one line each; then nothing is known any more.
std::vector<std::string> take() {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<std::string> lines;
  for (const auto& [key, count] : seen) lines.push_back(key + "\t" + std::to_string(count));
  for (const auto& [op, leaves] : composites) {
    std::string line = "C\t" + op;
    for (const auto& one : leaves) line += "\t" + one;
    lines.push_back(line);
  }
  for (const auto& [op, why] : broken) lines.push_back("B\t" + op + "\t" + why);
  seen.clear();
  composites.clear();
  broken.clear();
  scopes.clear();
  return lines;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("_local_scalar_dense", &local_scalar_dense);
  m.impl("resize_", &resize_);
  m.impl("as_strided", &as_strided);
  m.impl("view", &view);
  m.impl("_reshape_alias", &reshape_alias);
  m.impl("unfold", &unfold);
  m.impl("set_.source_Storage_storage_offset", &set_storage);
  m.impl("convolution_overrideable", &convolution);
  m.impl("convolution_backward_overrideable", &convolution_backward);
  m.impl("histc", &histc);
  m.impl("_thnn_fused_lstm_cell", &lstm_cell);
  m.impl("_thnn_fused_lstm_cell_backward_impl", &lstm_cell_backward);
  m.impl("_thnn_fused_gru_cell", &gru_cell);
  m.impl("_thnn_fused_gru_cell_backward", &gru_cell_backward);
}

// A lazily conjugated tensor is made plain by a copy, which must take it as it is.
TORCH_LIBRARY_IMPL(aten, Conjugate, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, Negative, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&leaf>());
}

TORCH_LIBRARY(ciwm_null, m) {
  m.def("record(bool on) -> ()", &record);
  m.def("load(str[] ops) -> str[]", &load);
  m.def("note_native(str op) -> ()", &note_native);
  m.def("restrict_to(str[] ops) -> ()", &restrict_to);
  m.def("unrestrict() -> ()", &unrestrict);
  m.def("set_part(str name) -> ()", &set_part);
  m.def("set_module(str name) -> ()", &set_module);
  m.def("take() -> str[]", &take);
}
