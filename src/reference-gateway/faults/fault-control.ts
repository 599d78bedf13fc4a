import type { FastifyInstance } from 'fastify'
import { faultsOf, Refusal } from '../refusal.ts'
import type { FaultBook } from './fault-book.ts'
import { FaultPlan } from './fault-plan.ts'

/**
 * The fault plan at run time; not of the interface, without credentials, and never struck itself:
 * - `PUT /_reference/faults`: takes another plan (JSON); the counters begin anew. 400 naming all that is wrong with it;
 * - `GET /_reference/faults`: the plan, and how often each fault was asked and has struck;
 * - `DELETE /_reference/faults`: no faults any more.
 */
export function serveFaultControl(app: FastifyInstance, book: FaultBook): void {
  app.get('/_reference/faults', async () => book.report())

  app.put('/_reference/faults', async (request) => {
    const result = FaultPlan.safeParse(request.body)
    if (!result.success) throw new Refusal(400, faultsOf(result.error, 'plan'))
    book.load(result.data)
    return book.report()
  })

  app.delete('/_reference/faults', async (_, reply) => {
    book.load(undefined)
    return reply.code(204).send()
  })
}
