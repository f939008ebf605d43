import { providerContract } from '../provider.contract.ts'
import { jsonHarness, queryHarness } from './gateway.ts'

providerContract('http, a gateway with JSON', jsonHarness)
providerContract('http, a gateway with queries', queryHarness)
