/** Colours are for terminals, and never say what the words do not. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import { linePrinter, toned } from '../../src/system/shown-text.ts'
import { ANN, HEADER, openClinic } from './clinic.ts'
import { PROJECT } from './command-line.ts'

const RED = '\u001b[31m'
const YELLOW = '\u001b[33m'
const GREEN = '\u001b[32m'

it('what comes from outside makes no colour: a tone is put around what was shown', () => {
  let written = ''
  const print = linePrinter(
    (text) => {
      written += text
    },
    (text, tone) => `<${tone}>${text}</${tone}>`,
  )
  print(toned(['plain', `${RED}evil`], 'attention'))
  print('one')
  expect(written).toBe('plain\n<attention>\\u001b[31mevil</attention>\none\n')
})

describe('in a process of its own', () => {
  /** Standard output of a command, with these variables; it is no terminal. */
  async function said(clinic: Awaited<ReturnType<typeof openClinic>>, more: object, ...args: string[]) {
    const { folder, environment } = clinic.workplace
    const env = { ...process.env, ...environment, NO_COLOR: undefined, FORCE_COLOR: undefined, ...more }
    const ended = await promisify(execFile)(process.execPath, [join(PROJECT, 'bin/waybill.js'), ...args], {
      ...{ cwd: folder, env, encoding: 'utf8' },
    }).catch((error: { stdout: string; stderr: string }) => error)
    return { out: ended.stdout, err: ended.stderr }
  }

  it('a run that is well is green, one that left something behind is yellow, an error is red; without colours the words are the same', async () => {
    const clinic = await openClinic()
    await clinic.deliver('a.csv', `${HEADER}${ANN}`)
    const coloured = { FORCE_COLOR: '1' }
    const well = await said(clinic, coloured, 'run', 'clinic')
    expect(well.out).toContain(`${GREEN}Run `)
    await clinic.deliver('b.csv', `${HEADER}ben,2026-03-02,fast,5.1,70.5,kg,fine\n`)
    const left = await said(clinic, coloured, 'run', 'clinic')
    expect(left.out).toContain(`${YELLOW}Run `)
    const none = await said(clinic, coloured, 'run', 'nobody')
    expect(none.err).toContain(`${RED}error `)

    const runs = await said(clinic, coloured, 'runs')
    const [, latest = '', first = ''] = runs.out.split('\n')
    expect([latest.startsWith(YELLOW), first.startsWith(GREEN)]).toEqual([true, true])
    for (const quiet of [{}, { NO_COLOR: '1' }]) {
      const plain = await said(clinic, quiet, 'runs')
      expect(plain.out).toBe(stripVTControlCharacters(plain.out))
      const words = (text: string) => stripVTControlCharacters(text).replaceAll(/\d+ (?:s|min)\b/g, '')
      expect(words(runs.out)).toBe(words(plain.out))
    }
    const doctor = await said(clinic, coloured, 'doctor')
    expect(doctor.out).toContain(`${GREEN}ok `)
  })
})
