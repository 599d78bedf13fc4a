import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { readBody } from './json-body.ts'
import type { MedicalRecordsStore } from './medical-records-store.ts'
import { Refusal } from './refusal.ts'

/** "Authorization PDF as binary body": its registered type (RFC 8118), and the one for bytes of no stated kind. */
const TYPES = ['application/pdf', 'application/octet-stream']
/** RFC 8118 section 8: a PDF file begins with this. */
const SIGNATURE = '%PDF-'

const Parameters = z.object({ id: z.string() })

/** Path of an upload address; the interface leaves it to the gateway. */
export const uploadPath = (id: string) => `/uploads/${encodeURIComponent(id)}`

/**
 * The upload of the authorization PDF: 200 with an envelope without data, since whoever has the address need not be
 * allowed to see the request. 404 for an address that was never given or whose request is deleted, 410 from the end of
 * its lifetime on. Until then a further document takes the place of the one before it.
 */
export function serveUploads(
  app: FastifyInstance,
  requests: MedicalRecordsStore,
  options: { readonly clock: () => number; readonly bodyLimit: number },
): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(TYPES, (request: FastifyRequest, payload: IncomingMessage) =>
    readBody(request, payload, options.bodyLimit),
  )
  app.route({
    method: 'PUT',
    url: '/uploads/:id',
    config: { endpoint: 'uploadAuthorization' },
    handler: async (request) => {
      const { id } = Parameters.parse(request.params)
      const nowMs = options.clock()
      const address = requests.findUpload(id)
      if (address === undefined) throw new Refusal(404, [{ message: 'upload address: not known' }])
      if (nowMs >= address.expiresMs) {
        throw new Refusal(410, [{ message: 'upload address: expired; a further upsert gives a new one' }])
      }
      const document = request.body
      if (!Buffer.isBuffer(document) || document.toString('latin1', 0, SIGNATURE.length) !== SIGNATURE) {
        throw new Refusal(400, [{ message: 'body: not a PDF' }])
      }
      requests.submit(address.request, `${id}.pdf`, document, nowMs)
      return { code: 200, message: '200 OK', data: [] }
    },
  })
}
