// A thread that only sleeps, and notes for how long it was kept from waking: see standstill.ts.
declare const self: Worker

const napMillis = 10

self.onmessage = ({ data }: MessageEvent<SharedArrayBuffer>) => {
  const longest = new Float64Array(data, 0, 1)
  const isOver = new Int32Array(data, 8, 1)
  while (true) {
    const beganAt = performance.now()
    if (Atomics.wait(isOver, 0, 0, napMillis) !== 'timed-out') return
    longest[0] = Math.max(longest[0] ?? 0, performance.now() - beganAt - napMillis)
  }
}
