import { execFileSync, spawnSync } from 'node:child_process'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { needsProgram } from '../needed.ts'
import { ANN, HEADER, openClinic } from './clinic.ts'
import { createWorkplace, PROJECT, summaryOf } from './command-line.ts'

describe('what is offered', () => {
  it.each<[readonly string[], readonly string[]]>([
    [['r'], ['reconcile', 'report', 'rerun', 'resolve', 'restore', 'resume', 'run', 'runs']],
    [
      ['run', ''],
      ['morning', 'nightly'],
    ],
    [['run', 'n'], ['nightly']],
    [['run', 'nightly', ''], []],
    [['run', '--limit', '5', 'm'], ['morning']],
    [['run', '--dry'], ['--dry-run']],
    [['run', '--dry-run', 'm'], ['morning']],
    [['run', '--limit', ''], []],
    [['mapping', 'c'], ['check']],
    [
      ['mapping', 'check', 'vendor', ''],
      ['other', 'vendor'],
    ],
    [
      ['accounts', ''],
      ['confirm', 'erase', 'export', 'forget', 'help'],
    ],
    [
      ['accounts', 'erase', '--job', ''],
      ['morning', 'nightly'],
    ],
    [['show', 'l'], ['latest']],
    [
      ['rerun', '--only', ''],
      ['in-doubt', 'rejected'],
    ],
    [['comp'], ['completion']],
  ])('behind %j', async (words, wanted) => {
    const workplace = await createWorkplace()
    const mappings = join(workplace.folder, 'own')
    Object.assign(workplace.environment, { WAYBILL_MAPPINGS: mappings })
    await mkdir(mappings)
    for (const name of ['vendor.yaml', 'vendor.cases.yaml', 'other.yml'])
      await writeFile(join(mappings, name), '')
    for (const name of ['nightly', 'morning']) await workplace.job(name, '')
    const { code, out } = await workplace.waybill('complete', '--', ...words)
    expect([code, out.split('\n').filter(Boolean)]).toEqual([0, wanted])
  })
})

it('runs and exports of the ledger are offered, and files where a path is wanted', async () => {
  const clinic = await openClinic()
  const { waybill } = clinic.workplace
  await clinic.deliver('night one.csv', HEADER + ANN)
  const { run } = summaryOf(await clinic.run())
  const offered = async (...words: string[]): Promise<string[]> =>
    (await waybill('complete', '--', ...words)).out.split('\n').filter(Boolean)
  expect(await offered('show', '')).toEqual([run, 'latest'])
  expect(await offered('rerun', run.slice(0, 12))).toEqual([run])
  expect(await offered('put-aside', '')).toEqual(['night one.csv'])
  expect(await offered('acknowledge', '--export', 'n')).toEqual(['night one.csv'])
  expect(await offered('mapping', 'check', '--export', 'n')).toEqual([])
})

it('bash completes what was typed', async () => {
  const workplace = await createWorkplace()
  await workplace.job('nightly', '')
  const bin = join(workplace.folder, 'bin')
  await mkdir(bin)
  const program = join(bin, 'waybill')
  await writeFile(
    program,
    `#!/bin/sh\nexec "${process.execPath}" "${join(PROJECT, 'bin/waybill.js')}" "$@"\n`,
  )
  await chmod(program, 0o700)
  const script =
    'source <(waybill completion bash); COMP_WORDS=(waybill run n); COMP_CWORD=2; _waybill; declare -p COMPREPLY'
  const env = { ...workplace.environment, PATH: `${bin}:${process.env['PATH']}` }
  expect(execFileSync('bash', ['-c', script], { env, encoding: 'utf8' })).toContain('[0]="nightly"')
})

it('says which shells it knows', async () => {
  const { waybill } = await createWorkplace()
  const { code, err } = await waybill('completion', 'sh')
  expect([code, err]).toEqual([2, expect.stringContaining('bash, zsh, fish')])
  for (const shell of ['zsh', 'fish'])
    expect((await waybill('completion', shell)).out).toContain('waybill complete --')
})

for (const shell of ['zsh', 'fish'])
  it(`is a script that ${shell} takes`, needsProgram(shell), async () => {
    const { out } = await (await createWorkplace()).waybill('completion', shell)
    expect(spawnSync(shell, ['-n'], { input: out }).status).toBe(0)
  })
