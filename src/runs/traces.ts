/**
 * Traces of runs, by OTLP over HTTP (OpenTelemetry): a span for each run, with child spans for exports and requests, and waits as events.
 * Names, counts and codes as in the log; no health data. Loaded only if an endpoint is set.
 */
import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import type { BatchAnswer } from '../load/batch-watch.ts'
import { allRecords, type Counts } from '../model/balance.ts'
import type { RunListener } from '../run/events.ts'

interface TraceSettings {
  /** Address of the collector, without `/v1/traces`, which OTLP appends. */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  readonly version: string
  /** Epoch milliseconds. */
  readonly now: () => number
}

export type Traces = ReturnType<typeof openTraces>

/** Timeout for exporting spans, in milliseconds: the end of a run may wait as long. */
const EXPORT_MS = 3_000

export function openTraces({ endpoint, headers, version, now }: TraceSettings) {
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    headers: { ...headers },
    timeoutMillis: EXPORT_MS,
  })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'waybill', 'service.version': version }),
    spanProcessors: [new BatchSpanProcessor({ exporter, exportTimeoutMillis: EXPORT_MS })],
  })
  const tracer = provider.getTracer('waybill', version)
  const { listener, endRun } = traceRuns(tracer, now)
  return {
    listener,
    /** Sends the remaining spans. An unreachable collector delays no further, and fails nothing. */
    async end() {
      endRun()
      await provider.shutdown().catch(() => {})
    },
  }
}

/** Opens and ends the spans of runs by their events. */
function traceRuns(tracer: Tracer, now: () => number) {
  let run: Span | undefined
  const exports = new Map<string, Span>()
  const within = () => (run === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, run))
  const failed = (span: Span | undefined, message: string): unknown =>
    span?.setStatus({ code: SpanStatusCode.ERROR, message })
  const endRun = (): void => {
    // Exports of a stopped run: the next process resumes them.
    for (const span of exports.values()) span.end(now())
    exports.clear()
    run?.end(now())
    run = undefined
  }

  return {
    endRun,
    listener: {
      runStarted({ id, job, gateway, resumed }) {
        endRun()
        run = tracer.startSpan(`run ${job}`, {
          root: true,
          startTime: now(),
          attributes: {
            'waybill.job': job,
            'waybill.run': id,
            'waybill.gateway': gateway,
            'waybill.resumed': resumed,
          },
        })
      },
      exportStarted({ name, bytes }) {
        const attributes = { 'waybill.export': name, 'waybill.export.bytes': bytes }
        exports.set(name, tracer.startSpan('export', { startTime: now(), attributes }, within()))
      },
      exportEnded({ name, counts }) {
        exports.get(name)?.setAttributes(attributesOf(counts)).end(now())
        exports.delete(name)
      },
      exportFailed({ name, error }) {
        const span =
          exports.get(name) ??
          tracer.startSpan('export', { startTime: now(), attributes: { 'waybill.export': name } }, within())
        failed(span, error.code)
        span.end(now())
        exports.delete(name)
      },
      batchAnswered(batch) {
        const { kind, class: answer, durationMs } = batch
        const startTime = now() - durationMs
        const about = { kind: SpanKind.CLIENT, startTime, attributes: attributesOfBatch(batch) }
        const span = tracer.startSpan(`send ${kind}`, about, within())
        if (answer !== 'accepted') failed(span, answer)
        span.end(now())
      },
      waiting({ operation, waitMs, class: answer }) {
        run?.addEvent('waiting', { operation, 'waybill.wait_ms': waitMs, 'waybill.answer': answer }, now())
      },
      runEnded({ state, reason }) {
        run?.setAttributes({
          'waybill.state': state,
          ...(reason === null ? {} : { 'waybill.reason': reason }),
        })
        if (state !== 'finished') failed(run, reason ?? state)
        endRun()
      },
    } satisfies RunListener,
  }
}

const attributesOfBatch = ({
  batchId,
  records,
  attempt,
  bytes,
  class: answer,
  requestId,
  status,
}: BatchAnswer) => ({
  'waybill.batch': batchId,
  'waybill.records': records,
  'waybill.attempt': attempt,
  'http.request.body.size': bytes,
  'waybill.answer': answer,
  'waybill.request': requestId,
  ...(status === undefined ? {} : { 'http.response.status_code': status }),
})

function attributesOf({ rows, records }: Counts) {
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
