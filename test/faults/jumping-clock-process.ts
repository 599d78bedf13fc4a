/** Waybill with a clock that jumps once: the number of times it is read before, and by how many milliseconds, come first. */
import { main } from '../../src/main.ts'

const [reads = '', jump = '', ...argv] = process.argv.slice(2)
let left = Number(reads)
process.exitCode = await main(argv, (context) => ({
  ...context,
  now: () => context.now() + (left-- > 0 ? 0 : Number(jump)),
}))
