import { expect, test } from 'vitest'
import { generateSamples } from '../../samples/generate.ts'
import { PASS, startFaultProxy } from '../faults/fault-proxy.ts'
import { meetGateway } from './clinic.ts'
import { createWorkplace, summaryOf } from './command-line.ts'
import { gatewaySettings, startReferenceStore } from './reference-store.ts'

const JOB = `exports:
  - { from: .., match: "acme_*.csv", mapping: acme-onsite }
  - { from: .., match: "northlab_*.ndjson", mapping: northlab-oru }
submit: { batch: { records: 200 } }
`

/** Every request, as its bytes went over the wire, of the job in a home that has delivered nothing, against an empty gateway; sorted. */
async function requestsUnder(key: string): Promise<string[]> {
  const store = await startReferenceStore()
  const proxy = await startFaultProxy(store.url, () => PASS)
  const workplace = await createWorkplace({ ...gatewaySettings(proxy.url), WAYBILL_KEY: key })
  await generateSamples({ out: workplace.folder, participants: 60, messages: 20 })
  await workplace.job('both', JOB)
  await meetGateway(workplace)
  const summary = summaryOf(await workplace.waybill('run', 'both', '--json'))
  expect(summary).toMatchObject({ state: 'finished', balanced: true, requests: { retried: 0, readBack: 0 } })
  return proxy.seen.map(({ method, path, body }) => `${method} ${path} ${body}`).sort()
}

const transactionIds = (requests: readonly string[]): Set<string> =>
  new Set(
    requests.flatMap((text) => [...text.matchAll(/"transactionId":"([^"]+)"/g)].map(([, id]) => id ?? '')),
  )

test('the same export, mapping and key make the same requests, byte for byte; another key makes other ids', async () => {
  const once = await requestsUnder('the key of one installation')
  const again = await requestsUnder('the key of one installation')
  expect(again).toHaveLength(once.length)
  expect(again.filter((text, at) => text !== once[at]).map((text) => text.slice(0, 200))).toEqual([])

  const otherwise = await requestsUnder('the key of another installation')
  const [ids, others] = [transactionIds(once), transactionIds(otherwise)]
  expect(ids.size).toBeGreaterThan(700)
  expect(others.size).toBe(ids.size)
  expect(ids.intersection(others).size).toBe(0)
})
