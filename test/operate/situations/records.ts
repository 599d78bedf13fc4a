/** Situations of rows and records that a run left behind, or owes. */
import { expect } from 'vitest'
import { ANN, BEN, CLINIC, HEADER, REGISTERED_ROW } from '../../cli/clinic.ts'
import { copyLabTables, LAB_JOB, labMapping, labMessage } from '../../cli/lab.ts'
import { unanswered } from '../../cli/left-behind.ts'
import { answer, PASS } from '../../faults/fault-proxy.ts'
import { type Situation, wordsOf, wrong } from '../scene.ts'

const PEOPLE = 'id,day,first,last,born,gender,zip,npi,pulse\n'
const person = (id: string, day: string, born = '1980-02-03'): string =>
  `${id},2026-03-${day},A,B,${born},FEMALE,04884,1234567893,61\n`
const REGISTERING = `mapping: clinic
${REGISTERED_ROW}biometrics: { heart-rate: pulse }
`
const PEOPLE_JOB = 'exports: { from: ../inbox, match: "*.csv" }\nmapping: clinic\ndrift: { fit: off }\n'

export const RECORDS: readonly Situation[] = [
  {
    row: 26,
    name: 'the mapping does not know a unit',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN + wrong('cid'))
      return scene.run()
    },
    exit: 1,
    need: { cause: 'left-rejected', code: 'unit-unknown' },
    async end(scene) {
      await scene.write('mappings/clinic.yaml', CLINIC.replace('"unit"', '"unit", table: { parsec: kg }'))
      expect((await scene.type('rerun')).code).toBe(0)
    },
  },
  {
    row: 27,
    name: 'wrong data, and the rejects file is corrected',
    night: async (scene) => {
      await scene.deliver('a.csv', `${HEADER}${ANN}ben,2026-03-02,sixty,5.2,71.5,kg,fine\n`)
      return scene.run()
    },
    exit: 1,
    need: { cause: 'left-rejected', code: 'value-not-a-number' },
    async end(scene) {
      const [file = ''] = await scene.suggested('run clinic --file')
      const path = wordsOf(file).at(-1) ?? ''
      await scene.write(path, (await scene.read(path)).replace('sixty', '60'))
      expect((await scene.type('run clinic --file')).code).toBe(0)
    },
  },
  {
    row: 29,
    name: 'rejected rows stay so for good',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN + wrong('cid'))
      return scene.run()
    },
    exit: 1,
    need: { cause: 'left-rejected', code: 'unit-unknown' },
    end: (scene) => scene.type('acknowledge'),
  },
  {
    row: 30,
    name: 'rows of one reason are rejected on three nights',
    night: async (scene) => {
      for (const day of ['a', 'b']) {
        await scene.deliver(`${day}.csv`, HEADER + ANN + wrong(day))
        await scene.run()
      }
      await scene.deliver('c.csv', HEADER + ANN + wrong('c'))
      return scene.run()
    },
    exit: 1,
    need: { cause: 'left-rejected', code: 'unit-unknown', times: 1, people: 3 },
    async end(scene) {
      await scene.write('mappings/clinic.yaml', CLINIC.replace('"unit"', '"unit", table: { parsec: kg }'))
      expect((await scene.type('rerun')).code).toBe(0)
    },
  },
  {
    row: 31,
    name: 'no answer came, and the profile cannot tell',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      await scene.deliver('b.csv', HEADER + BEN)
      scene.strike(unanswered('pass-then-reset'))
      const ended = await scene.run()
      scene.strike(() => PASS)
      return ended
    },
    exit: 1,
    need: { cause: 'left-in-doubt' },
    end: (scene) => scene.type('reconcile'),
  },
  {
    row: 34,
    name: 'more is rejected than the job allows',
    options: { job: 'stopWhen: { rejectedRows: 10%, after: 1 }\n' },
    night: async (scene) => {
      await scene.deliver('a.csv', `${HEADER}ann,never,1,,,,\n`)
      return scene.run()
    },
    exit: 4,
    need: { cause: 'run-failed', code: 'threshold-passed' },
    async end(scene) {
      await scene.deliver('a.csv', HEADER + ANN)
      expect((await scene.type('run clinic')).code).toBe(0)
    },
  },
  {
    row: 28,
    name: 'the gateway knows nobody of that id, until somebody is registered there',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN + BEN)
      scene.strike(({ method, body }) => (method === 'POST' && body.includes('"ben"') ? answer(404) : PASS))
      return scene.run()
    },
    exit: 1,
    need: { cause: 'left-rejected', people: 1 },
    async end(scene) {
      scene.strike(() => PASS)
      expect((await scene.type('rerun')).code).toBe(0)
      expect(await scene.stored()).toHaveLength(6)
    },
  },
  {
    row: 32,
    name: 'a result is withdrawn by the laboratory after delivery',
    options: { mapping: await labMapping(), job: '', whole: LAB_JOB },
    night: async (scene) => {
      await copyLabTables(scene.workplace.folder)
      await scene.deliver('a.hl7', labMessage(1, '91', 'F'))
      await scene.run()
      await scene.deliver('b.hl7', labMessage(1, '91', 'W'))
      return scene.run()
    },
    exit: 1,
    need: { cause: 'left-rejected', code: 'withdrawn', people: 1 },
    async end(scene) {
      expect((await scene.type('trace')).code).toBe(0)
      expect((await scene.type('acknowledge')).code).toBe(0)
    },
  },
  {
    row: 33,
    name: 'one reference stands for two people, until somebody says whose it is',
    options: { mapping: REGISTERING, job: '', whole: PEOPLE_JOB },
    night: async (scene) => {
      await scene.deliver('a.csv', PEOPLE + person('p-1', '02') + person('p-2', '02'))
      await scene.run()
      await scene.deliver('b.csv', PEOPLE + person('p-2', '03', '1991-01-01'))
      return scene.run()
    },
    exit: 1,
    need: { cause: 'left-rejected', code: 'reference-shared', people: 1 },
    async end(scene) {
      const [confirm = ''] = await scene.suggested('accounts confirm')
      await scene.write(wordsOf(confirm)[4] ?? '', 'partnerAccountId,dateOfBirth\np-2,1991-01-01\n')
      expect((await scene.type('accounts confirm')).code).toBe(0)
      expect((await scene.type('rerun')).code).toBe(0)
    },
  },
  {
    row: 35,
    name: 'a mark is owed',
    options: {
      mapping: `mapping: clinic\n${REGISTERED_ROW}careTeams: { doctor: { npi: npi, name: last, type: PCP, primary: true } }\n`,
      job: '',
      whole: PEOPLE_JOB,
    },
    night: async (scene) => {
      await scene.deliver('a.csv', PEOPLE + person('p-1', '02'))
      scene.strike(({ method, path }) => (method === 'POST' && path.endsWith('/pcp') ? answer(404) : PASS))
      return scene.run()
    },
    exit: 1,
    need: { cause: 'owed', people: 1 },
    async end(scene) {
      scene.strike(() => PASS)
      expect((await scene.type('run')).code).toBe(0)
    },
  },
]
