/**
 * What a refused record costs beyond its request: processor time for its words, as rejects file and ledger have them. Run by
 * `npx node bench/refused-records.ts [records]`. Each record is refused in words of its own, as a gateway refuses that names the person.
 */
import { refusalWords, rejection } from '../src/load/gateway-words.ts'
import { biometric, entriesOf } from '../test/load/made-up-entries.ts'

const records = Number(process.argv[2] ?? 500)
const wide = Array.from({ length: 60 }, (_, at) => (at % 3 === 0 ? `answer ${at}` : String(at * 1.7)))

const entries = Array.from({ length: records }, (_, at) =>
  entriesOf([biometric({ value: String(80 + at) })], { row: at + 1, person: `person-${at}`, cells: wide }),
).flat()
const refusals = entries.map((_, at) => ({
  status: 422,
  gatewayMessage: `Record for Testina Beispielfrau born 1970-02-28 cannot be stored: the value ${80 + at} of patient.reference person-${at} is out of range; data[${at}].value: must be less than the maximum; the unit "mm[Hg]" is not known for this measurement (code 8480-6)`,
}))

for (const turn of ['cold', 'warm']) {
  const before = process.cpuUsage()
  for (const [at, entry] of entries.entries()) {
    const refusal = refusals[at]
    if (refusal !== undefined) rejection(entry, 'batch', 'refused', refusalWords(refusal))
  }
  const { user, system } = process.cpuUsage(before)
  console.log(`${turn}: ${((user + system) / records).toFixed(1)} µs of processor time a refused record`)
}
