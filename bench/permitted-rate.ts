/**
 * How much of a permitted rate is used, and how much is refused: `waybill run` on a made export against a reference gateway that lets 20
 * requests a second through and answers 429 above. Run by `node bench/permitted-rate.ts [requests a second] [rows]`; takes
 * about half a minute.
 */
import { rehearse } from './rehearsal.ts'

const perSecond = Number(process.argv[2] ?? 20)
const rows = Number(process.argv[3] ?? 560)

const { faults, summary, sendingMs } = await rehearse(rows, [
  { on: 'all', do: 'rate-limit', requests: perSecond, perMs: 1000 },
])
const [limit] = faults
const { sent, readBack } = summary.requests
const requests = sent + readBack
const refused = limit?.struck ?? 0
const seconds = sendingMs / 1000
process.stdout.write(
  `${requests} requests in ${seconds.toFixed(1)} s, ${refused} of them refused: ` +
    `${((100 * (requests - refused)) / (perSecond * seconds)).toFixed(1)} % of the permitted ${perSecond} a second used, ` +
    `${((100 * refused) / requests).toFixed(1)} % refused\n`,
)
