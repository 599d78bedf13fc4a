/** The example that hands notifications on, as a command of a job: over real HTTP, to what Slack, Teams and PagerDuty take. */
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join, resolve } from 'node:path'
import { json } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { createCommand } from '../../src/notify/command.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { MESSAGE } from './sample-notice.ts'

const PROGRAM = resolve(import.meta.dirname, '../../examples/notify/forward.mjs')

async function receive(status = 200) {
  const got: unknown[] = []
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      got.push(body)
      response.writeHead(status).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('it has no port')
  return { got, url: `http://127.0.0.1:${address.port}/hook` }
}

async function forward(service: string, secrets: string, message = MESSAGE): Promise<void> {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'secret'), secrets)
  const command = `"${process.execPath}" "${PROGRAM}" ${service} secret`
  await createCommand({ command, folder, timeoutMs: 60_000, environment: {} }).deliver(message)
}

const { title, text, job } = MESSAGE.notice

test('Slack gets a text in which nothing is markup', async () => {
  const { got, url } = await receive()
  const notice = { ...MESSAGE.notice, title: 'a <b> & c' }
  await forward('slack', `${url}\n`, { ...MESSAGE, notice })
  expect(got).toEqual([{ text: expect.stringMatching(/^\*a &lt;b&gt; &amp; c\*\n```/) }])
})

test('Teams gets an adaptive card', async () => {
  const { got, url } = await receive(202)
  await forward('teams', url)
  const [card] = got as [
    { attachments: { contentType: string; content: { type: string; body: unknown[] } }[] },
  ]
  expect(card).toMatchObject({ type: 'message', attachments: [{ content: { type: 'AdaptiveCard' } }] })
  expect(card.attachments[0]?.contentType).toBe('application/vnd.microsoft.card.adaptive')
  expect(card.attachments[0]?.content.body).toMatchObject([{ text: title }, { text: text.join('\n') }])
})

test('PagerDuty gets one incident a job, which a good end resolves', async () => {
  const { got, url } = await receive(202)
  const ended = (failure: boolean) => ({ ...MESSAGE, notice: { ...MESSAGE.notice, failure } })
  await forward('pagerduty', `key\n${url}\n`, ended(true))
  await forward('pagerduty', `key\n${url}\n`, ended(false))
  await forward('pagerduty', `key\n${url}\n`, { ...MESSAGE, notice: { ...MESSAGE.notice, kind: 'digest' } })
  const common = { routing_key: 'key', dedup_key: `waybill ${job}` }
  expect(got).toMatchObject([
    { ...common, event_action: 'trigger', payload: { summary: title, severity: 'error', component: job } },
    { ...common, event_action: 'resolve' },
  ])
})

test('what is not taken is not delivered', async () => {
  const { url } = await receive(403)
  await expect(forward('slack', url)).rejects.toMatchObject({
    name: 'NotDelivered',
    message: 'the command failed (exit 1)',
  })
})
