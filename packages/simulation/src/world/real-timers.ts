/** The timers of Node, whatever a world makes of them. */
export const real = { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate };
