import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createCommand } from '../../src/notify/command.ts'
import { describeChannel, limitOf } from '../conformance/notify-channel.ts'
import { MESSAGE, NOTICE } from './sample-notice.ts'

const SECRET = 'a-token-within-the-command'

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-notify-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const linesOf = async (file: string): Promise<string[]> =>
  existsSync(file) ? (await readFile(file, 'utf8')).trimEnd().split('\n') : []

describeChannel('a command', async (receiver) => {
  const folder = await makeFolder()
  const ends = { takes: 'true', refuses: 'exit 7', hangs: 'sleep 60' }[receiver]
  return {
    channel: createCommand({
      command: `TOKEN=${SECRET}; cat >> seen; echo "$TOKEN" >&2; ${ends}`,
      folder,
      timeoutMs: limitOf(receiver),
    }),
    received: () => linesOf(join(folder, 'seen')),
    secrets: [SECRET],
  }
})

it('finds a few facts in its environment, and the notice as JSON on its standard input', async () => {
  const folder = await makeFolder()
  await writeFile(join(folder, 'told.sh'), 'env | grep ^WAYBILL_NOTICE_ > env; cat > notice; pwd > where\n')
  await createCommand({ command: 'sh ./told.sh', folder, timeoutMs: 5_000 }).deliver(MESSAGE)
  expect((await linesOf(join(folder, 'env'))).sort()).toEqual([
    'WAYBILL_NOTICE_FAILURE=true',
    `WAYBILL_NOTICE_ID=${MESSAGE.id}`,
    'WAYBILL_NOTICE_JOB=nightly-screenings',
    'WAYBILL_NOTICE_KIND=run-ended',
    `WAYBILL_NOTICE_TITLE=${NOTICE.title}`,
  ])
  expect(JSON.parse(await readFile(join(folder, 'notice'), 'utf8'))).toMatchObject({
    type: 'waybill.run-ended',
    timestamp: '2026-03-02T07:31:00.000Z',
    data: { id: MESSAGE.id, job: 'nightly-screenings', details: { exit: 1 } },
  })
})

it('one that reads nothing has taken it all the same', async () => {
  const folder = await makeFolder()
  const text = Array.from({ length: 50_000 }, () => 'a line that fills the pipe')
  const channel = createCommand({ command: 'exit 0', folder, timeoutMs: 5_000 })
  await channel.deliver({ ...MESSAGE, notice: { ...NOTICE, text } })
})

it('one that takes too long is killed with all that it has started', async () => {
  const folder = await makeFolder()
  const command = 'sh -c "echo \\$\\$ > child; sleep 60" & wait'
  await expect(createCommand({ command, folder, timeoutMs: 500 }).deliver(MESSAGE)).rejects.toMatchObject({
    message: 'it took longer than 0.5 s, and was killed',
    passing: false,
  })
  const [child = ''] = await linesOf(join(folder, 'child'))
  // A process that is gone may be there as a zombie, until its parent has looked at it.
  const state = async (): Promise<string | undefined> => {
    const stat = await readFile(`/proc/${child}/stat`, 'utf8').catch(() => ') Z')
    return stat.split(') ')[1]?.[0]
  }
  await expect.poll(state).toBe('Z')
})

it.each([
  ['exit 3', 'it failed (exit 3)'],
  ['kill -9 $$', 'it failed (SIGKILL)'],
])('%s: %s', async (command, message) => {
  const folder = await makeFolder()
  await expect(createCommand({ command, folder, timeoutMs: 5_000 }).deliver(MESSAGE)).rejects.toMatchObject({
    message,
  })
})

it('is run elsewhere where its folder is gone: that the jobs folder is gone is told by it, too', async () => {
  const folder = await makeFolder()
  const command = `pwd > '${folder}/where'`
  await createCommand({ command, folder: join(folder, 'gone'), timeoutMs: 5_000 }).deliver(MESSAGE)
  expect(await linesOf(join(folder, 'where'))).toEqual(['/'])
})
