import { providerContract } from '../provider.contract.ts'
import { jsonHarness, queryHarness } from './gateway.ts'

providerContract('http, a gateway that takes JSON', jsonHarness)
providerContract('http, a gateway that takes queries', queryHarness)
