import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { noTallies } from '../../src/ledger/ledger.ts'
import { openTraces } from '../../src/runs/traces.ts'
import { ANN, BEN, HEADER, JOB, openClinic } from '../cli/clinic.ts'
import { summaryOf } from '../cli/command-line.ts'
import { openNights } from '../cli/nights.ts'
import { scheduledNights } from '../cli/scheduled-nights.ts'
import { closedPort } from '../closed-port.ts'

/** OTLP 1.x, JSON encoding: ids in hex, 64-bit numbers as text. */
const SpanSent = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  name: z.string(),
  startTimeUnixNano: z.coerce.bigint(),
  endTimeUnixNano: z.coerce.bigint(),
  attributes: z.array(z.object({ key: z.string(), value: z.record(z.string(), z.unknown()) })),
  status: z.object({ code: z.int().optional(), message: z.string().optional() }).optional(),
})
const Sent = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: z.array(z.object({ key: z.string(), value: z.unknown() })) }),
      scopeSpans: z.array(z.object({ spans: z.array(SpanSent) })),
    }),
  ),
})
type SpanSent = z.infer<typeof SpanSent>

/** A collector: what came, and with which headers. */
async function collector(): Promise<{ url: string; spans: SpanSent[]; requests: IncomingMessage[] }> {
  const spans: SpanSent[] = []
  const requests: IncomingMessage[] = []
  const server = createServer(async (request, response) => {
    requests.push(request)
    const { resourceSpans } = Sent.parse(await json(request))
    for (const { scopeSpans } of resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, requests }
}

/** Members of `AnyValue` of the protocol, by the type of their value. */
const MEMBERS: Readonly<Record<string, string>> = {
  string: 'stringValue',
  number: 'intValue',
  boolean: 'boolValue',
}

const told = ({ attributes }: SpanSent, key: string): unknown => {
  const [[member, value] = []] = Object.entries(attributes.find((one) => one.key === key)?.value ?? {})
  expect(member).toBe(MEMBERS[typeof value])
  return value
}

test('a run is a span, with one for each export and each request within it; nothing of a person goes out', async () => {
  const { url, spans, requests } = await collector()
  const clinic = await openClinic({
    environment: { WAYBILL_OTLP_ENDPOINT: `${url}/`, WAYBILL_OTLP_HEADERS: 'x-key=a%20key, x-other=1' },
  })
  await clinic.deliver('a.csv', `${HEADER}${ANN}${BEN}`)
  await clinic.deliver('b.csv', `${HEADER.replace('pulse', 'heart')}${ANN}`)
  const ended = await clinic.run()
  const summary = summaryOf(ended)

  expect(requests.map(({ url: path, headers }) => [path, headers['x-key'], headers['x-other']])).toEqual([
    ['/v1/traces', 'a key', '1'],
  ])
  const run = spans.find(({ name }) => name === 'run clinic') ?? expect.fail('no run')
  const others = spans.filter((span) => span !== run)
  expect(run.parentSpanId ?? '').toBe('')
  expect([told(run, 'waybill.run'), told(run, 'waybill.state')]).toEqual([summary.run, 'finished'])
  expect(told(run, 'waybill.resumed')).toBe(false)
  expect(others.map(({ name }) => name).sort()).toEqual(['export', 'export', 'send biometric'])
  for (const span of others) {
    expect([span.traceId, span.parentSpanId]).toEqual([run.traceId, run.spanId])
    expect(
      span.startTimeUnixNano >= run.startTimeUnixNano && span.endTimeUnixNano <= run.endTimeUnixNano,
    ).toBe(true)
  }
  const sent = others.find(({ name }) => name.startsWith('send'))
  expect(sent && [told(sent, 'waybill.records'), told(sent, 'http.response.status_code')]).toEqual([6, 201])
  const exports = others.filter(({ name }) => name === 'export')
  const ends = exports.map((span) => [told(span, 'waybill.export'), span.status?.message])
  expect(ends.sort()).toEqual([
    ['a.csv', undefined],
    ['b.csv', 'columns-missing'],
  ])
  expect(
    JSON.stringify(spans, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
  ).not.toMatch(/\bann\b|\bben\b/)
})

test('spans go out 512 at once, the rest at the end', async () => {
  const { url, spans, requests } = await collector()
  let ids = 0
  const { listener, end } = openTraces({
    endpoint: url,
    headers: {},
    version: '0',
    now: () => 1_000,
    randomHex: (bytes) => (++ids).toString(16).padStart(2 * bytes, '0'),
  })
  listener.runStarted({ id: 'one', job: 'nightly', gateway: 'g', resumed: false, tallies: noTallies() })
  const batch = {
    kind: 'biometric',
    records: 1,
    bytes: 9,
    class: 'accepted',
    attempt: 1,
    status: 201,
  } as const
  for (let at = 0; at < 600; at++)
    listener.batchAnswered({ ...batch, batchId: `b-${at}`, requestId: `r-${at}`, durationMs: 0.5 })
  listener.runEnded({ state: 'finished', reason: null, workedMs: 1 })
  await end()
  expect([requests.length, spans.length, new Set(spans.map(({ spanId }) => spanId)).size]).toEqual([
    2, 601, 601,
  ])
  const [first, last] = [spans[0], spans.at(-1)]
  expect([first?.startTimeUnixNano, first?.endTimeUnixNano]).toEqual([999_500_000n, 1_000_000_000n])
  expect([last?.name, last?.parentSpanId]).toEqual(['run nightly', undefined])
})

test.each([
  ['cannot be reached', async () => `http://127.0.0.1:${await closedPort()}`],
  [
    'refuses',
    async () => {
      const server = createServer((request, response) => {
        request.resume()
        response.writeHead(400).end()
      }).listen(0, '127.0.0.1')
      await new Promise((resolve) => server.once('listening', resolve))
      onTestFinished(() => void server.close())
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    },
  ],
])('a collector that %s fails no run, and says nothing', async (_, open) => {
  const clinic = await openClinic({ environment: { WAYBILL_OTLP_ENDPOINT: await open() } })
  await clinic.deliver('a.csv', `${HEADER}${ANN}`)
  const ended = await clinic.run()
  expect([ended.code, ended.err.includes('OTLP')]).toEqual([0, false])
  expect(await clinic.stored()).toHaveLength(3)
})

test('what is no address of a collector is refused', async () => {
  const clinic = await openClinic({ environment: { WAYBILL_OTLP_ENDPOINT: 'collector:4318?x=1' } })
  const ended = await clinic.run('--file', join(clinic.workplace.folder, 'none.csv'))
  expect(ended.code).toBe(2)
  expect(ended.err).toContain('WAYBILL_OTLP_ENDPOINT')
})

test('each run of a schedule is a trace of its own, sent at its end', async () => {
  const { url, spans } = await collector()
  const SCHEDULE = 'schedule: { cron: "15 2 * * *", zone: Etc/UTC }\n'
  const nights = await openNights({ job: SCHEDULE, environment: { WAYBILL_OTLP_ENDPOINT: url } })
  await nights.workplace.job('second', `${JOB}drift: { fit: off }\n${SCHEDULE}`)
  await nights.deliver('a.csv', `${HEADER}${ANN}`)
  let sentAt: string | undefined
  await scheduledNights(nights.workplace).keep('2027-03-02T02:10Z', '2027-03-02T02:20Z', (now) => {
    if (spans.length > 0) sentAt ??= now
  })
  expect(sentAt).toMatch(/^2027-03-02T02:1[5-8]/)
  const traces = Map.groupBy(spans, ({ traceId }) => traceId)
  expect(traces.size).toBe(2)
  for (const own of traces.values()) {
    const runs = own.filter(({ parentSpanId }) => (parentSpanId ?? '') === '')
    expect(runs).toHaveLength(1)
    expect(own.filter(({ name }) => name === 'export')).toHaveLength(1)
  }
  expect(
    spans
      .map(({ name }) => name)
      .filter((name) => name.startsWith('run '))
      .sort(),
  ).toEqual(['run clinic', 'run second'])
})
