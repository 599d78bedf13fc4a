import type { DatabaseSync } from 'node:sqlite'
import type { FastifyInstance } from 'fastify'
import { type MedicalRecordsOptions, serveMedicalRecords } from './medical-records.ts'
import { createMedicalRecordsStore } from './medical-records-store.ts'
import { Refusal } from './refusal.ts'
import type { RequestTypes } from './request-types.ts'
import { answerRequesterError } from './requester-refusal.ts'
import { serveUploads } from './upload.ts'

/** Levels of a body, more than any request needs: what is taken in can be written out again, and copied. */
const MOST_LEVELS = 64
/** Items of an array inside a body; the array that an upsert is may be longer. Bounds what checking it takes. */
const MOST_ITEMS = 1000

/** The medical-records requester and its uploads, each with its own bodies: JSON here, PDF there. */
export function serveRequester(
  app: FastifyInstance,
  store: DatabaseSync,
  types: RequestTypes,
  options: MedicalRecordsOptions & { readonly bodyLimit: number },
): void {
  const requests = createMedicalRecordsStore(store)
  app.register(async (scope) => {
    scope.setErrorHandler(answerRequesterError)
    scope.addHook('preHandler', async (request) => {
      const message = boundsPassed(request.body)
      if (message !== undefined) throw new Refusal(400, [{ message }])
    })
    serveMedicalRecords(scope, store, requests, types, options)
  })
  app.register(async (scope) => serveUploads(scope, requests, options))
}

/** What a JSON value has too much of; undefined where nothing. Does not recurse, so any depth can be asked about. */
function boundsPassed(body: unknown): string | undefined {
  let level: unknown[] = Array.isArray(body) ? body : [body]
  for (let depth = 0; depth <= MOST_LEVELS; depth++) {
    if (level.some((part) => Array.isArray(part) && part.length > MOST_ITEMS))
      return `body: an array of more than ${MOST_ITEMS} items`
    level = level.flatMap((part) => (typeof part === 'object' && part !== null ? Object.values(part) : []))
    if (level.length === 0) return undefined
  }
  return 'body: nested too deeply'
}
