/** Loaded ahead of a program: the clock of the process begins at an instant and runs faster. The address of this file has both: `?at=…&speed=…`. */
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'

const { searchParams } = new URL(import.meta.url)
const [at, speed] = [Date.parse(searchParams.get('at') ?? ''), Number(searchParams.get('speed'))]
const began = performance.now()
const wait = timers.setTimeout
Date.now = () => Math.floor(at + (performance.now() - began) * speed)
timers.setTimeout = (ms, value, options) => wait((ms ?? 0) / speed, value, options)
syncBuiltinESMExports()
