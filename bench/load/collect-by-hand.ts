/**
 * What a user would write instead of a job that collects: a loop of got and p-limit that asks for each person of a roster and writes a line of
 * NDJSON. What fails is asked again; it remembers nothing, and knows of no balance.
 *
 *     node bench/load/collect-by-hand.ts ROSTER URL OUT
 */
import { createReadStream, createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { parse } from 'csv-parse'
import got from 'got'
import pLimit from 'p-limit'
import pRetry from 'p-retry'

const [roster = '', url = '', to = ''] = process.argv.slice(2)
const AT_ONCE = 8

const client = got.extend({
  prefixUrl: url,
  headers: { 'x-api-key': 'bench', authorization: 'Bearer bench' },
  retry: { limit: 0 },
  timeout: { request: 60_000 },
})
interface Answer {
  readonly data: readonly object[]
}

const limit = pLimit(AT_ONCE)
const out = createWriteStream(to)
let collected = 0

const collect = (reference: string): Promise<void> =>
  limit(async () => {
    const searchParams = { accountReference: reference, accountReferenceType: 'partnerAccountId' }
    const { data } = await pRetry(
      () => client.get('health-profile/biometrics', { searchParams }).json<Answer>(),
      { retries: 3 },
    )
    out.write(`${JSON.stringify({ reference, biometrics: data })}\n`)
    collected++
  })

const underWay = new Set<Promise<void>>()
for await (const row of createReadStream(roster).pipe(parse({ columns: true, bom: true })) as AsyncIterable<
  Record<string, string>
>) {
  const one = collect(row['participant_id'] ?? '').finally(() => underWay.delete(one))
  underWay.add(one)
  while (underWay.size >= 2 * AT_ONCE) await Promise.race(underWay)
}
await Promise.all(underWay)
out.end()
await finished(out)
console.log(`${collected} people`)
