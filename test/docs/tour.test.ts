import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { INHERITED, PROJECT } from '../cli/command-line.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const PEOPLE = 40
/** One in four, the last of whom has no PDF at first. */
const REQUESTS = PEOPLE / 4

it('npm run tour goes through a job of every kind, and tells what became of it', async () => {
  const folder = await temporaryFolder()
  const tour = spawn(process.execPath, [join(PROJECT, 'samples/tour.ts'), join(folder, 'tour')], {
    env: { ...INHERITED, PATH: `${join(PROJECT, 'node_modules/.bin')}:${process.env['PATH']}` },
  })
  const [out, err, [code]] = await Promise.all([text(tour.stdout), text(tour.stderr), once(tour, 'exit')])
  expect([code, err.includes('Error')], err).toEqual([0, false])
  const rows = out.split('\n').flatMap((line) =>
    line.startsWith('│')
      ? [
          line
            .split('│')
            .map((cell) => cell.trim())
            .slice(1, -1),
        ]
      : [],
  )
  const told = new Map(
    rows.map(([what = '', job, read, accepted, unchanged, left, exit]) => [
      what,
      { job, read, accepted, unchanged, left, exit },
    ]),
  )
  expect(told.get('register a roster')).toMatchObject({
    read: String(PEOPLE),
    accepted: String(PEOPLE),
    exit: '0',
  })
  const first = told.get('deliver screenings')
  expect(told.get('the same again')).toMatchObject({
    accepted: '0',
    unchanged: first?.accepted,
    left: first?.left,
  })
  expect(told.get('answer tests from paper')).toMatchObject({
    accepted: String(PEOPLE - 1),
    left: '1',
    exit: '1',
  })
  expect(told.get('ask for medical records')).toMatchObject({ accepted: String(REQUESTS - 1), left: '1' })
  expect(told.get('a PDF that came late')).toMatchObject({ read: '1', accepted: '1', exit: '0' })
  expect(told.get('collect what stands there')).toMatchObject({
    read: String(PEOPLE),
    accepted: String(PEOPLE),
  })
  expect(told.get('mirror the articles')).toMatchObject({ job: 'tour-articles', left: '0', exit: '0' })
  expect(Number(told.get('mirror the articles')?.accepted)).toBeGreaterThan(0)
  expect(out).toContain(`requestStatus: ${REQUESTS} of ${REQUESTS} people`)
  expect(out).toContain(`ageResult: ${PEOPLE - 1} of ${PEOPLE - 1} people`)
  expect(existsSync(join(folder, 'tour/home/ledger.sqlite'))).toBe(true)
})
