/** Serves the metrics of a process, and whether it is well: `/metrics`, `/health`. */
import fastify from 'fastify'
import { WaybillError } from '../model/errors.ts'
import type { Metrics } from './metrics.ts'

export interface MetricsServer {
  /** `http://127.0.0.1:9464` */
  readonly url: string
  close(): Promise<void>
}

export interface MetricsServing {
  readonly host: string
  /** 0: a free one. */
  readonly port: number
  readonly metrics: Pick<Metrics, 'text' | 'mediaType'>
  readonly version: string
  /** Whether the process is about to end: then it is not well any more. */
  readonly isEnding: () => boolean
}

/** @throws WaybillError `settings-invalid` where the address cannot be had */
export async function serveMetrics(serving: MetricsServing): Promise<MetricsServer> {
  const { host, port, metrics, version } = serving
  // A scraper keeps its connection; the end of the process does not wait for it.
  const server = fastify({ forceCloseConnections: true })
  server.get('/metrics', async (_, reply) => reply.type(metrics.mediaType).send(await metrics.text()))
  server.get('/health', async (_, reply) => {
    const ending = serving.isEnding()
    return reply.code(ending ? 503 : 200).send({ status: ending ? 'ending' : 'ok', version })
  })
  try {
    return { url: await server.listen({ host, port }), close: () => server.close() }
  } catch (cause) {
    await server.close()
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new WaybillError('settings-invalid', `metrics cannot be served: ${reason}`, {
      place: { key: 'WAYBILL_METRICS' },
      remedy: 'Give another port with --metrics or WAYBILL_METRICS, or end what listens there.',
      cause,
    })
  }
}
