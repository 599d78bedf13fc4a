/** Host, port and database of an address, without user and password: for messages. */
export function shownAddress(url: string): string {
  const { host, pathname } = new URL(url)
  return `postgres://${host}${pathname}`
}
