/**
 * Traces of runs by OTLP over HTTP as JSON (OpenTelemetry protocol 1.x): a span a run, child spans for exports and requests, waits as events. No
 * health data. Loaded only if an endpoint is set.
 */
import { setTimeout as delay } from 'node:timers/promises'
import pRetry from 'p-retry'
import type { BatchAnswer } from '../load/delivery.ts'
import { allRecords, type Counts } from '../model/balance.ts'
import { demandSuccess } from '../notify/http-status.ts'
import { NotDelivered } from '../notify/notice.ts'
import type { RunListener } from '../run/events.ts'

interface TraceSettings {
  /** Address of the collector, without `/v1/traces`, which OTLP appends. */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  readonly version: string
  readonly now: () => number
  readonly randomHex: (bytes: number) => string
}

type Attributes = Readonly<Record<string, string | number | boolean>>

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: readonly object[]
  readonly events: object[]
  status: { readonly code?: number; readonly message?: string }
}

/** `SpanKind` and `StatusCode` of the protocol. */
const INTERNAL = 1
const CLIENT = 3
const ERROR = 2

/** Timeout for sending spans, in milliseconds: the end of a run may wait as long. */
const EXPORT_MS = 3_000
/** Spans of a request, and most spans that wait: a slow collector loses the rest. */
const SPANS_AT_ONCE = 512
const SPANS_KEPT = 2_048

export function openTraces(settings: TraceSettings) {
  const sender = createSender(settings)
  const { listener, endRun } = traceRuns(settings, sender.add)
  return {
    listener,
    /** Sends the remaining spans. An unreachable collector delays no further, and fails nothing. */
    async end() {
      endRun()
      await sender.end()
    },
  }
}

/** Sends spans when many have ended, and at the end. */
function createSender({ endpoint, headers, version }: TraceSettings) {
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`
  const resource = { attributes: attributes({ 'service.name': 'waybill', 'service.version': version }) }
  const ended: Span[] = []
  let waiting = 0
  let sending = Promise.resolve()
  const post = (spans: readonly Span[]): Promise<void> =>
    demandSuccess({
      method: 'POST',
      url,
      receiver: 'the collector',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({
        resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'waybill', version }, spans }] }],
      }),
      timeoutMs: EXPORT_MS,
    })
  const isPassing = ({ error }: { readonly error: Error }): boolean =>
    error instanceof NotDelivered && error.passing
  const send = (): void => {
    const spans = ended.splice(0, SPANS_AT_ONCE)
    const options = { retries: 1, maxRetryTime: EXPORT_MS, shouldRetry: isPassing }
    sending = sending
      .then(() => pRetry(() => post(spans), options))
      .catch(() => {})
      .then(() => {
        waiting -= spans.length
      })
  }
  return {
    add(span: Span): void {
      if (waiting === SPANS_KEPT) return
      waiting++
      ended.push(span)
      if (ended.length === SPANS_AT_ONCE) send()
    },
    async end(): Promise<void> {
      while (ended.length > 0) send()
      const sent = new AbortController()
      const timeout = delay(EXPORT_MS, undefined, { signal: sent.signal }).catch(() => {})
      await Promise.race([sending, timeout])
      sent.abort()
    },
  }
}

function traceRuns({ now, randomHex }: TraceSettings, add: (span: Span) => void) {
  let run: Span | undefined
  const exports = new Map<string, Span>()
  const begin = (name: string, of: Attributes, kind = INTERNAL, at = now()): Span => ({
    traceId: run?.traceId ?? randomHex(16),
    spanId: randomHex(8),
    ...(run && { parentSpanId: run.spanId }),
    name,
    kind,
    startTimeUnixNano: nanoseconds(at),
    endTimeUnixNano: '0',
    attributes: attributes(of),
    events: [],
    status: {},
  })
  const end = (span: Span | undefined, more: Attributes, failure?: string): void => {
    if (span === undefined) return
    span.attributes = [...span.attributes, ...attributes(more)]
    if (failure !== undefined) span.status = { code: ERROR, message: failure }
    span.endTimeUnixNano = nanoseconds(now())
    add(span)
  }
  const endRun = (more: Attributes = {}, failure?: string): void => {
    // Exports of a stopped run: the next process resumes them.
    for (const span of exports.values()) end(span, {})
    exports.clear()
    end(run, more, failure)
    run = undefined
  }
  const listener = {
    runStarted({ id, job, gateway, resumed }) {
      endRun()
      run = begin(`run ${job}`, {
        'waybill.job': job,
        'waybill.run': id,
        'waybill.gateway': gateway,
        'waybill.resumed': resumed,
      })
    },
    exportStarted({ name, bytes }) {
      exports.set(name, begin('export', { 'waybill.export': name, 'waybill.export.bytes': bytes }))
    },
    exportEnded({ name, counts }) {
      end(exports.get(name), attributesOf(counts))
      exports.delete(name)
    },
    exportFailed({ name, error }) {
      end(exports.get(name) ?? begin('export', { 'waybill.export': name }), {}, error.code)
      exports.delete(name)
    },
    batchAnswered(batch) {
      const { kind, class: answer, durationMs } = batch
      const span = begin(`send ${kind}`, attributesOfBatch(batch), CLIENT, now() - durationMs)
      end(span, {}, answer === 'accepted' ? undefined : answer)
    },
    waiting({ operation, waitMs, class: answer }) {
      const of = attributes({ operation, 'waybill.wait_ms': waitMs, 'waybill.answer': answer })
      run?.events.push({ name: 'waiting', timeUnixNano: nanoseconds(now()), attributes: of })
    },
    runEnded({ state, reason }) {
      const of = { 'waybill.state': state, ...(reason === null ? {} : { 'waybill.reason': reason }) }
      endRun(of, state === 'finished' ? undefined : (reason ?? state))
    },
  } satisfies RunListener
  return { listener, endRun }
}

const nanoseconds = (ms: number): string => String(BigInt(Math.round(1_000 * ms)) * 1_000n)

const attributes = (of: Attributes): readonly object[] =>
  Object.entries(of).map(([key, value]) => ({ key, value: encoded(value) }))

function encoded(value: string | number | boolean): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isInteger(value) ? { intValue: value } : { doubleValue: value }
}

const attributesOfBatch = ({
  batchId,
  records,
  attempt,
  bytes,
  status,
  ...batch
}: BatchAnswer): Attributes => ({
  'waybill.batch': batchId,
  'waybill.records': records,
  'waybill.attempt': attempt,
  'http.request.body.size': bytes,
  'waybill.answer': batch.class,
  'waybill.request': batch.requestId,
  ...(status === undefined ? {} : { 'http.response.status_code': status }),
})

function attributesOf({ rows, records }: Counts): Attributes {
  const { accepted, unchanged, rejected, inDoubt } = allRecords({ records })
  return {
    'waybill.rows.read': rows.read,
    'waybill.rows.rejected': rows.rejected,
    'waybill.rows.skipped': rows.skipped,
    'waybill.records.accepted': accepted,
    'waybill.records.unchanged': unchanged,
    'waybill.records.rejected': rejected,
    'waybill.records.in_doubt': inDoubt,
  }
}
