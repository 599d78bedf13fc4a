#!/usr/bin/env node
/**
 * Hands a notification of Waybill on to Slack, Microsoft Teams or PagerDuty: for `notify: [{ command: … }]` of a job.
 *
 *     node forward.mjs slack     FILE   FILE holds the address of an incoming webhook
 *     node forward.mjs teams     FILE   FILE holds the address of a workflow "when a webhook request is received"
 *     node forward.mjs pagerduty FILE   FILE holds the routing key of an integration (Events API v2), and may hold another address in a second line
 *
 * The file holds a secret: chmod 600. Exit code 0 means that it was taken; what is printed is thrown away by Waybill.
 */
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'

const MOST_CHARACTERS = 2_900
const PAGERDUTY = 'https://events.pagerduty.com/v2/enqueue'

/** @typedef {{ id: string, job: string, subject: string, failure: boolean, title: string, text: string[], details?: { run?: string } }} Data */

/** The same three characters stand for themselves in Slack (docs.slack.dev, "Formatting message text"). */
const forSlack = (line) => line.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
const body = ({ text: lines }) => lines.join('\n').slice(0, MOST_CHARACTERS)

/** What each takes: an address, and its JSON. */
const FORMS = {
  slack: (data, [address]) => ({
    address,
    json: { text: `*${forSlack(data.title)}*\n\`\`\`${forSlack(body(data))}\`\`\`` },
  }),
  teams: (data, [address]) => ({
    address,
    json: {
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          content: {
            $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
            type: 'AdaptiveCard',
            version: '1.4',
            body: [
              { type: 'TextBlock', text: data.title, weight: 'Bolder', wrap: true },
              { type: 'TextBlock', text: body(data), fontType: 'Monospace', wrap: true },
            ],
          },
        },
      ],
    },
  }),
  // One incident a job: what ends well resolves it, where the job tells that, too (`on: always`).
  pagerduty: (data, [routingKey, address = PAGERDUTY]) => ({
    address,
    json: {
      routing_key: routingKey,
      event_action: data.failure ? 'trigger' : 'resolve',
      dedup_key: `waybill ${data.job}`,
      payload: {
        summary: data.title.slice(0, 1024),
        source: data.details?.host ?? 'waybill',
        severity: 'error',
        component: data.job,
        custom_details: { subject: data.subject, text: body(data) },
      },
    },
  }),
}

const [service = '', file = ''] = process.argv.slice(2)
const form = FORMS[service]
if (form === undefined || file === '') {
  process.stderr.write('usage: forward.mjs slack|teams|pagerduty FILE\n')
  process.exit(2)
}
const secrets = (await readFile(file, 'utf8')).split('\n').map((line) => line.trim())
const { type, data } = JSON.parse(await text(process.stdin))
// A digest is about all jobs: it opens and resolves no incident.
if (service === 'pagerduty' && type === 'waybill.digest') process.exit(0)
const { address, json } = form(
  data,
  secrets.filter((line) => line !== ''),
)
const answer = await fetch(address, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(json),
  redirect: 'error',
  signal: AbortSignal.timeout(8_000),
})
if (!answer.ok) {
  process.stderr.write(`it answered ${answer.status}\n`)
  process.exit(1)
}
