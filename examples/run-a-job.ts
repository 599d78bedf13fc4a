/**
 * Runs a job from a program, tells of each export as it ends, and says what to do about what is left behind.
 *
 *     node examples/run-a-job.ts nightly-screenings
 *
 * In a program of yours, import from 'waybill'.
 */
import { openWaybill } from '../src/index.ts'

const [job = 'nightly-screenings', folder = '.'] = process.argv.slice(2)
const { WAYBILL_GATEWAY_URL = 'built-in', WAYBILL_API_KEY = '', WAYBILL_ACCESS_TOKEN = '' } = process.env
const say = (line: string): boolean => process.stdout.write(`${line}\n`)
const stopping = new AbortController()
process.once('SIGTERM', () => stopping.abort())

const waybill = await openWaybill({
  home: `${folder}/.waybill`,
  jobs: `${folder}/jobs`,
  mappings: `${folder}/mappings`,
  settings: { WAYBILL_GATEWAY_URL, WAYBILL_API_KEY, WAYBILL_ACCESS_TOKEN },
  signal: stopping.signal,
})

for await (const event of waybill.run(job)) {
  if (event.type === 'exportEnded') say(`${event.name}: ${event.counts.rows.read} rows`)
  if (event.type === 'exportFailed') say(`${event.name}: ${event.error.code}`)
}

const { summary, next } = await waybill.show()
say(`${summary.run} ${summary.state}, ${summary.balanced ? 'balanced' : 'not balanced'}`)
for (const step of next) say([step.say, ...step.commands].join('\n  '))
