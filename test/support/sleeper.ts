// A thread that only sleeps and records how late it wakes. See standstill.ts.
declare const self: Pick<Worker, 'onmessage'> & { close(): void }

const [napMillis, tolerableMillis] = [10, 20]

self.onmessage = ({ data }: MessageEvent<SharedArrayBuffer>) => {
  const [isOver, noted] = [new Int32Array(data, 0, 1), new Float64Array(data, 8, 2)]
  let [longest, total] = [0, 0]
  for (;;) {
    const beganAt = performance.now()
    if (Atomics.wait(isOver, 0, 0, napMillis) !== 'timed-out') return self.close()
    const late = performance.now() - beganAt - napMillis
    if (late > tolerableMillis) total += late
    longest = Math.max(longest, late)
    noted.set([longest, total])
  }
}
