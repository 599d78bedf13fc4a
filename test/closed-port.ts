import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'

/**
 * A port of this machine on which nothing listens, unless a test has it listened on by its number. A connection of this process is bound to it: no
 * server is given it, nor a client, which would reach itself there.
 */
export async function closedPort(): Promise<number> {
  const [server, spare] = [createServer((socket) => socket.unref()), createServer()]
  for (const one of [server, spare]) await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve))
  const { port: localPort } = spare.address() as AddressInfo
  spare.close()
  await once(spare, 'close')
  const { port } = server.address() as AddressInfo
  const holding = connect({ port, host: '127.0.0.1', localPort })
  await once(holding, 'connect')
  holding.unref()
  server.close()
  return localPort
}
