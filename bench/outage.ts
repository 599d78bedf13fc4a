/**
 * What an outage costs: `waybill run` on a made export against a reference gateway that resets every connection for a minute in the
 * middle. Run by `node bench/outage.ts [seconds]`; takes that and about half a minute.
 */
import { rehearse } from './rehearsal.ts'

const seconds = Number(process.argv[2] ?? 60)
const ROWS = 800

const { faults, summary, sendingMs, stored, doubled } = await rehearse(ROWS, [
  { on: 'all', do: 'outage', fromMs: 6_000, forMs: seconds * 1000, as: 'reset' },
  // Slow enough to be in the middle when it begins.
  { on: 'all', do: 'slow', ms: 100 },
])
const { made, accepted } = summary.records.biometric
process.stdout.write(
  `${faults[0]?.struck ?? 0} requests during an outage of ${seconds} s, in a run of ${(sendingMs / 1000).toFixed(1)} s; ` +
    `of ${made} records ${accepted} accepted, ${ROWS - stored} lost, ${doubled} stored twice\n`,
)
