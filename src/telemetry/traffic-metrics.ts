/** How things stand with the gateway, as gauges (docs/metrics.md). They are read when somebody asks for the metrics: a request costs nothing. */
import { Gauge, type Registry } from 'prom-client'

export interface GatewayTraffic {
  readonly breaker: BreakerState
  /** Requests that may be under way at once, while the breaker is closed. */
  readonly permitted: number
  /** Requests that are. */
  readonly underWay: number
}

const BREAKER_STATES = ['closed', 'open', 'trying'] as const
type BreakerState = (typeof BREAKER_STATES)[number]

export function registerTraffic(registry: Registry, read: () => GatewayTraffic): void {
  const registers = [registry]
  new Gauge({
    name: 'waybill_gateway_breaker_state',
    help: 'State of the breaker, which stops sending while nothing gets through: 1 for the one that it is in.',
    labelNames: ['state'],
    registers,
    collect() {
      const { breaker } = read()
      for (const state of BREAKER_STATES) this.set({ state }, state === breaker ? 1 : 0)
    },
  })
  new Gauge({
    name: 'waybill_gateway_requests_permitted',
    help: 'Requests to the gateway that may be in flight at once.',
    registers,
    collect() {
      this.set(read().permitted)
    },
  })
  new Gauge({
    name: 'waybill_gateway_requests_in_flight',
    help: 'Requests to the gateway that are in flight.',
    registers,
    collect() {
      this.set(read().underWay)
    },
  })
}
