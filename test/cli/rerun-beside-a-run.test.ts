/** Before `waybill rerun` has its turn another run of the job may begin, and be killed. From then on none can: what it looks at stays so. */
import type { ChildProcess } from 'node:child_process'
import { expect, test } from 'vitest'
import { runCommandLine } from '../../src/main.ts'
import { PASS } from '../faults/fault-proxy.ts'
import { ANN, CLINIC, HEADER } from './clinic.ts'
import { ended, summaryOf } from './command-line.ts'
import { openFaultyClinic, writeMapping } from './left-behind.ts'

test('what that run has under way is not sent by the rerun', async () => {
  const clinic = await openFaultyClinic()
  const { folder, environment, start } = clinic.workplace
  await clinic.deliver('day.csv', `${HEADER}${ANN.replace('61', 'many')}`)
  const first = summaryOf(await clinic.run())
  await writeMapping(clinic, CLINIC.replace('heart-rate: "pulse"', 'heart-rate: "weight"'))

  let other: ChildProcess | undefined
  clinic.strike(({ method }) => {
    if (method === 'POST') other?.kill('SIGKILL')
    return method === 'POST' ? { do: 'pass-then-hang' } : PASS
  })
  let leases = 0
  let err = ''
  const surroundings = {
    ...{ environment, folder, terminal: false as const, interrupt: new AbortController().signal },
    columns: undefined,
    out: () => {},
    err: (text: string) => {
      err += text
    },
  }
  const code = await runCommandLine(['rerun', first.run], surroundings, (context) => ({
    ...context,
    async openLedger() {
      const ledger = await context.openLedger()
      return {
        ...ledger,
        leases: {
          ...ledger.leases,
          async acquire(...given) {
            if (++leases === 1) {
              other = start('run', 'clinic')
              await ended(other)
              clinic.strike(() => PASS)
            }
            return ledger.leases.acquire(...given)
          },
        },
      }
    },
  }))
  expect(leases).toBe(1)
  expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('run-unfinished') })
  expect((await clinic.run()).code).toBe(0)
  expect(await clinic.stored()).toEqual(['ann body-weight 70.5', 'ann hba1c 5.1', 'ann heart-rate 70.5'])
})
