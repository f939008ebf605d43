import { jsonHarness, queryHarness } from './http-gateway.ts'
import { providerContract } from './provider.contract.ts'

providerContract('http, a gateway that takes JSON', jsonHarness)
providerContract('http, a gateway that takes queries', queryHarness)
