/** Script of the console: shows what changed without a reload. Written as text, since the project has no browser types. */
export const SCRIPT = `
// The console may lie below a path.
const EVENTS = new URL('events', document.currentScript.src)
const status = document.getElementById('live')
const isLive = document.body.dataset.live !== undefined
let busy = false
let again = false
let last = document.getElementById('main').innerHTML
// An element is found again by its id, or by the address that it leads to.
const keyOf = (element) => element.id || element.getAttribute('href') || element.getAttribute('aria-label')
const replace = (next) => {
  const main = document.getElementById('main')
  const open = new Set([...main.querySelectorAll('details')].flatMap((one, at) => (one.open ? [at] : [])))
  const focused = main.contains(document.activeElement) ? keyOf(document.activeElement) : undefined
  const [x, y] = [scrollX, scrollY]
  main.innerHTML = next.innerHTML
  for (const [at, one] of [...main.querySelectorAll('details')].entries()) one.open = open.has(at)
  showTimes()
  if (focused) [...main.querySelectorAll('a, [id], [aria-label]')].find((one) => keyOf(one) === focused)?.focus({ preventScroll: true })
  scrollTo(x, y)
}
const zone = document.getElementById('zone')
const isLocal = () => localStorage.getItem('waybill-time') === 'local'
const local = new Intl.DateTimeFormat('en-CA', { dateStyle: 'short', timeStyle: 'medium', hourCycle: 'h23' })
// Times are written in UTC; the reader chooses the time of the browser.
const showTimes = () => {
  for (const one of document.querySelectorAll('time')) {
    one.dataset.utc ??= one.textContent
    const at = new Date(one.dateTime)
    one.textContent = isLocal() ? local.format(at).replace(', ', ' ') + ' local' : one.dataset.utc
  }
  zone.textContent = isLocal() ? 'UTC' : 'Local time'
}
zone.hidden = false
zone.addEventListener('click', () => { localStorage.setItem('waybill-time', isLocal() ? 'utc' : 'local'); showTimes() })
showTimes()
const UNITS = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]]
const lengthOf = (seconds) => {
  const first = UNITS.findIndex(([, unit]) => seconds >= unit)
  let rest = seconds
  const parts = UNITS.map(([name, unit]) => { const amount = Math.floor(rest / unit); rest -= amount * unit; return amount > 0 ? amount + ' ' + name : '' })
  return first < 0 ? '0 s' : parts.slice(first, first + 2).filter(Boolean).join(' ')
}
setInterval(() => {
  for (const one of document.querySelectorAll('[data-until]')) {
    const left = Math.round((new Date(one.dataset.until) - Date.now()) / 1000)
    one.textContent = left > 0 ? '(in ' + lengthOf(left) + ')' : '(due)'
  }
}, 1000)
const refresh = async () => {
  if (busy) { again = true; return }
  busy = true
  try {
    const answer = await fetch(location.href, { headers: { 'waybill-live': '1' } })
    if (answer.status === 401) { status.textContent = 'The session has ended: this page is no longer updated.'; rest(); return }
    if (!answer.ok) return
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    const next = page.getElementById('main')
    if (next === null || next.innerHTML === last) return
    // A form that somebody fills in stays.
    if (document.activeElement?.matches('#main input, #main select')) return
    last = next.innerHTML
    document.title = page.title
    replace(next)
  } catch {
    // The stream of events reports a console that has ended.
  } finally {
    busy = false
    if (again) { again = false; setTimeout(refresh, 500) }
  }
}
let events
const follow = () => {
  if (!isLive || document.hidden || events !== undefined) return
  events = new EventSource(EVENTS)
  events.addEventListener('open', () => { status.textContent = 'Updates by itself'; refresh() })
  events.addEventListener('message', refresh)
  events.addEventListener('error', () => { status.textContent = 'No connection to the console: this page may be old.' })
}
const rest = () => { events?.close(); events = undefined }
// Browsers allow six connections to a host: pages behind others hold none.
document.addEventListener('visibilitychange', () => { if (document.hidden) rest(); else follow() })
follow()
`
