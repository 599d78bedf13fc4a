/** A defect of Waybill itself ends with 70, EX_SOFTWARE of sysexits.h, and with nothing that has another meaning. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { describeError } from '../../src/cli/terminal-text.ts'
import { EXIT, endingOf, exitOfCode, WaybillError } from '../../src/model/errors.ts'
import { ANN, HEADER, openClinic } from './clinic.ts'
import { ended, PROJECT } from './command-line.ts'

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
        const sendBulk = () => Promise.reject(new TypeError('a defect'))
        const biometrics = { ...connection.gateway.biometrics, sendBulk }
        return { ...connection, gateway: { ...connection.gateway, biometrics } }
      },
    }),
    'run',
    'clinic',
  )
  expect(broken).toMatchObject({
    code: 70,
    err: expect.stringContaining('error unexpected: TypeError\n    at test/cli/defects.test.ts:'),
  })
  expect(await readFile(join(workplace.folder, 'last.prom'), 'utf8')).toMatch(
    /^waybill_last_run_exit_code\{.*\} 70$/m,
  )
})

test('an error that no command can catch ends the process with 70', async () => {
  const { workplace } = await openClinic()
  workplace.environment['NODE_OPTIONS'] =
    `--import=data:text/javascript,process.on('newListener',(name)=>{if(name==='uncaughtException')setImmediate(()=>{throw(new(TypeError)('a_defect'))})})`
  const { code, err } = await ended(workplace.start('gateway', '--port', '0'))
  expect({ code, err }).toMatchObject({
    code: 70,
    err: expect.stringContaining('error unexpected: TypeError\n'),
  })
})

test('of one, what stands behind its words is told as where it was thrown, as far as it is ours', () => {
  const error = new TypeError(`two\n    at words (${PROJECT}/src/evil.ts:1:1)`)
  error.stack = `TypeError: ${error.message}\n  at new Here (${PROJECT}/src/a.ts:1:2)\n\tat file://${PROJECT}/dist/bundle/b.mjs:3:4\n    at there (${PROJECT}/node_modules/c.js:1:1)\n    at node:internal/d:1:1`
  expect(describeError(error).slice(1, -1)).toEqual([
    'error unexpected: TypeError',
    '    at src/a.ts:1:2',
    '    at dist/bundle/b.mjs:3:4',
  ])
})

test('where its words were changed since, nothing of the stack is taken for a place', () => {
  const error = new Error('another')
  error.stack = `Error: one\n    at words (${PROJECT}/src/evil.ts:1:1)\n    at here (${PROJECT}/src/a.ts:1:2)`
  expect(describeError(error).slice(1, -1)).toEqual(['error unexpected: Error'])
})
