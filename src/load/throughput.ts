/** How many requests a second got through lately, kept in two counts of a window and of the one before it. Pure. */
export interface Throughput {
  readonly lengthMs: number
  readonly beganAt: number
  readonly current: number
  readonly previous: number
}

export const measureOver = (lengthMs: number): Throughput => ({
  lengthMs,
  beganAt: Number.NEGATIVE_INFINITY,
  current: 0,
  previous: 0,
})

export function count(throughput: Throughput, now: number): Throughput {
  const moved = moveTo(throughput, now)
  return { ...moved, current: moved.current + 1 }
}

/** How many got through in the last window, the part of it that lies in the window before estimated. */
export function lately(throughput: Throughput, now: number): number {
  const { current, previous, beganAt, lengthMs } = moveTo(throughput, now)
  return current + previous * (1 - (now - beganAt) / lengthMs)
}

function moveTo(throughput: Throughput, now: number): Throughput {
  const { lengthMs, beganAt, current } = throughput
  const passed = now - beganAt
  if (passed < lengthMs) return throughput
  if (passed < 2 * lengthMs) return { lengthMs, beganAt: beganAt + lengthMs, current: 0, previous: current }
  return { lengthMs, beganAt: now, current: 0, previous: 0 }
}
