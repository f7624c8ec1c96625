// Loaded before emulate (node -r): it would listen on every interface, and would outlive a killed
// pytest. Here it listens on loopback only, and goes when its parent has gone.
"use strict";
const net = require("node:net");

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function onLoopback(...given) {
  if (typeof given[0] === "number") {
    const rest = given.slice(1).filter((part) => part !== undefined && typeof part !== "string");
    return listen.call(this, given[0], "127.0.0.1", ...rest);
  }
  if (given[0] && typeof given[0] === "object" && "port" in given[0]) {
    return listen.call(this, { ...given[0], host: "127.0.0.1" }, ...given.slice(1));
  }
  return listen.apply(this, given);
};

const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) process.exit(0);
}, 1000).unref();
