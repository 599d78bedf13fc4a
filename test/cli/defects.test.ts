/** A defect of Waybill itself ends with 70, EX_SOFTWARE of sysexits.h, and with nothing that has another meaning. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { EXIT, endingOf, exitOfCode, WaybillError } from '../../src/model/errors.ts'
import { ANN, HEADER, openClinic } from './clinic.ts'
import { ended } from './command-line.ts'

test('counts that do not add up and illegal moves are defects, as is an error that nobody foresaw', () => {
  const ends = [
    new WaybillError('not-balanced', 'x'),
    new WaybillError('state-illegal', 'x'),
    new TypeError('x'),
    'x',
  ]
  expect(ends.map((error) => endingOf(error).exit)).toEqual([70, 70, 70, 70])
  expect(['not-balanced', 'unexpected', 'of-another-version', 'job-held'].map(exitOfCode)).toEqual([
    70, 70, 70, 5,
  ])
  expect(new Set(Object.values(EXIT)).size).toBe(Object.keys(EXIT).length)
})

test('a run that breaks off for one ends with 70, in its metrics too', async () => {
  const { workplace, deliver } = await openClinic({ environment: { WAYBILL_METRICS_FILE: 'last.prom' } })
  await deliver('a.csv', `${HEADER}${ANN}`)
  const broken = await workplace.waybillWith(
    (context) => ({
      ...context,
      async connectGateway(name) {
        const connection = await context.connectGateway(name)
        const createBulk = () => Promise.reject(new TypeError('a defect'))
        const biometrics = { ...connection.gateway.biometrics, createBulk }
        return { ...connection, gateway: { ...connection.gateway, biometrics } }
      },
    }),
    'run',
    'clinic',
  )
  expect(broken).toMatchObject({
    code: 70,
    err: expect.stringContaining('error unexpected: TypeError: a defect'),
  })
  expect(await readFile(join(workplace.folder, 'last.prom'), 'utf8')).toMatch(
    /^waybill_last_run_exit_code\{.*\} 70$/m,
  )
})

test('an error that no command can catch ends the process with 70', async () => {
  const { workplace } = await openClinic()
  workplace.environment['NODE_OPTIONS'] =
    `--import=data:text/javascript,setTimeout(()=>{throw(new(TypeError)('a_defect'))},1000)`
  const { code, err } = await ended(workplace.start('gateway', '--port', '0'))
  expect({ code, err }).toMatchObject({
    code: 70,
    err: expect.stringContaining('error unexpected: TypeError: a_defect'),
  })
})
