import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { BindSettings } from './settings.ts'

/** Begins to connect. With TLS the certificate is checked, against the host unless another name is set. */
export function connectTo({
  host,
  port,
  tls,
}: Pick<BindSettings, 'host' | 'port' | 'tls'>): Socket {
  if (!tls) return connectTcp({ host, port })
  const { ca, servername = host } = tls === true ? {} : tls
  // An address is no name to ask for (RFC 6066 section 3); the certificate is checked against it all the same.
  const name = isIP(servername) ? '' : servername
  return connectTls({ host, port, servername: name, ...(ca !== undefined && { ca }) })
}
