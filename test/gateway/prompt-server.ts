/**
 * A server in a thread of its own, so that it answers while the client is still at work: with the body as `data`, the
 * moment its last byte is there. Tells its port to the thread that started it.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parentPort } from 'node:worker_threads'

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  let missing = Number(request.headers['content-length'])
  request.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    missing -= chunk.length
    if (missing === 0) response.writeHead(201).end(`{"data":${Buffer.concat(chunks)}}`)
  })
})
server.listen(0, '127.0.0.1', () => parentPort?.postMessage((server.address() as AddressInfo).port))
