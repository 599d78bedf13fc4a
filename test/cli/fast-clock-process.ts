/** Waybill with a clock that runs faster: when it starts (UTC) and how many times as fast it runs come first. */
import { main } from '../../src/main.ts'

const [start = '', speed = '', ...argv] = process.argv.slice(2)
const began = performance.now()
process.exitCode = await main(argv, (context) => ({
  ...context,
  now: () => Math.floor(Date.parse(start) + (performance.now() - began) * Number(speed)),
  sleep: (ms, signal) => context.sleep(ms / Number(speed), signal),
}))
