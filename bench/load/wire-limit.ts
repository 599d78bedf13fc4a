/**
 * The least that a load can take on this machine: ready-made bodies, as many at once as the loaders send, by the plainest client there is.
 *
 *     node bench/load/wire-limit.ts BODIES URL   (a line each: path, a blank, the body)
 */
import { createReadStream } from 'node:fs'
import { Agent, request } from 'node:http'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'

const [file = '', url = ''] = process.argv.slice(2)
const AT_ONCE = 8
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
const headers = { 'content-type': 'application/json', 'x-api-key': 'bench', authorization: 'Bearer bench' }

function post(path: string, body: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, {
      ...{ method: 'POST', agent },
      headers: { ...headers, 'content-length': body.length },
    })
    sent.on('response', (response) => text(response).then(() => resolve(), reject))
    sent.on('error', reject)
    sent.end(body)
  })
}

const underWay = new Set<Promise<void>>()
for await (const line of createInterface(createReadStream(file))) {
  const blank = line.indexOf(' ')
  const sending = post(line.slice(0, blank), Buffer.from(line.slice(blank + 1))).finally(() =>
    underWay.delete(sending),
  )
  underWay.add(sending)
  if (underWay.size >= AT_ONCE) await Promise.race(underWay)
}
await Promise.all(underWay)
agent.destroy()
