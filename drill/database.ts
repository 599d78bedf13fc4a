/** The PostgreSQL server of a drill with workers: one for all rounds, with a schema each. It is stopped hard now and then. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { startServer } from '../test/postgres/start-server.ts'

/** Time between two stops, and time until the server is started again. */
const STOP_EVERY_MS = 45_000
const AWAY_MS = 3_000

export interface DrillDatabase {
  /** Address of a new schema. */
  schema(name: string): Promise<string>
  /** How often the server was stopped. */
  stops(): number
  close(): Promise<void>
}

export async function openDatabase(): Promise<DrillDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-drill-postgres-'))
  let server = await startServer(folder)
  const { port } = server
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const over = new AbortController()
  let stops = 0
  /** SIGQUIT: every connection is cut, and the next start recovers as after a crash. */
  const stop = async (): Promise<void> => {
    process.kill(server.pid, 'SIGQUIT')
    for (;;) {
      try {
        process.kill(server.pid, 0)
        await delay(50)
      } catch {
        return
      }
    }
  }
  /** A start fails while a process of the former server still holds the shared memory. */
  const started = async (): Promise<typeof server> => {
    for (;;) {
      const again = await startServer(folder, [], port).catch(() => undefined)
      if (again !== undefined) return again
    }
  }
  const stopping = (async () => {
    for (;;) {
      await delay(STOP_EVERY_MS, undefined, { signal: over.signal })
      stops++
      await stop()
      await delay(AWAY_MS)
      server = await started()
    }
  })().catch((error: unknown) => {
    if (!over.signal.aborted) throw error
  })
  return {
    async schema(name) {
      for (;;) {
        const client = new pg.Client(url)
        // While the server is away.
        client.on('error', () => {})
        try {
          await client.connect()
          await client.query(`create schema if not exists ${name}`)
          return `${url}?options=-c%20search_path%3D${name}`
        } catch {
          await delay(500)
        } finally {
          await client.end().catch(() => {})
        }
      }
    },
    stops: () => stops,
    async close() {
      over.abort()
      await stopping
      await stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
