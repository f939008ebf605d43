import { createServer } from 'node:net'
import { answer, listen } from '../../stage/answer.mjs'

// An SMSC of minimal cost: it reads headers and addresses, accepts everything, and returns a counter as the id. Plain
// JavaScript on Buffers. Requests: `RawSmscHandlers`.

const BIND_RECEIVER = 1
const BIND_TRANSMITTER = 2
const SUBMIT_SM = 4
const DELIVER_SM = 5
const UNBIND = 6
const BIND_TRANSCEIVER = 9
const ENQUIRE_LINK = 0x15
const RESPONSE = 0x80000000

const ROK = 0
const RINVCMDID = 3

/** The number of final digits by which recipients differ; they show lost and repeated messages. */
const OWN_DIGITS = 7

const times = new Uint8Array(10 ** OWN_DIGITS)

let submitted = 0
let doubled = 0
let receipted = 0
let sends_receipts = false
let watcher = null

answer({
  async start({ receipts }) {
    sends_receipts = receipts
    return { port: await listen(createServer({ noDelay: true }, serve)) }
  },
  count: () => ({ submitted, doubled, receipted }),
  /** Resolves when this number of short messages has arrived since the start, with the time of the last. */
  reached(count) {
    return new Promise((resolve) => {
      watcher = { count, resolve }
      watch()
    })
  },
})

function watch() {
  if (!watcher || submitted < watcher.count) return
  const { resolve } = watcher
  watcher = null
  resolve(now())
}

/** The machine's clock, comparable with the times of other processes. */
function now() {
  return performance.timeOrigin + performance.now()
}

function serve(socket) {
  let rest = null
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    const octets = rest ? Buffer.concat([rest, chunk]) : chunk
    const answers = []
    let at = 0
    while (octets.length - at >= 16) {
      const length = octets.readUInt32BE(at)
      if (length < 16 || length > 65_536) return socket.destroy()
      if (octets.length - at < length) break
      answerPdu(octets, at, at + length, answers)
      at += length
    }
    rest = at < octets.length ? octets.subarray(at) : null
    if (answers.length > 0) socket.write(answers.length === 1 ? answers[0] : Buffer.concat(answers))
    watch()
  })
}

function answerPdu(octets, at, end, answers) {
  const command = octets.readUInt32BE(at + 4)
  const sequence = octets.readUInt32BE(at + 12)
  if (command === SUBMIT_SM) return submit(octets, at, end, sequence, answers)
  if (command === (DELIVER_SM | RESPONSE) >>> 0) {
    receipted += 1
    return
  }
  if (command >= RESPONSE) return
  if (command === ENQUIRE_LINK || command === UNBIND) {
    answers.push(pdu((command | RESPONSE) >>> 0, sequence, ''))
  } else if (
    command === BIND_TRANSCEIVER ||
    command === BIND_TRANSMITTER ||
    command === BIND_RECEIVER
  ) {
    answers.push(pdu((command | RESPONSE) >>> 0, sequence, 'raw'))
  } else {
    const nack = pdu(RESPONSE, sequence, '')
    nack.writeUInt32BE(RINVCMDID, 8)
    answers.push(nack)
  }
}

function submit(octets, at, end, sequence, answers) {
  submitted += 1
  const id = String(submitted)
  const source_at = octets.indexOf(0, at + 16) + 3
  const source_end = octets.indexOf(0, source_at)
  const dest_at = source_end + 3
  const dest_end = octets.indexOf(0, dest_at)
  let own = 0
  for (let i = dest_end - OWN_DIGITS; i < dest_end; i++) own = own * 10 + octets[i] - 0x30
  times[own] += 1
  if (times[own] > 1) doubled += 1
  answers.push(pdu((SUBMIT_SM | RESPONSE) >>> 0, sequence, id))
  // esm_class, protocol_id, priority_flag, two times that may be empty; registered_delivery.
  const schedule_end = octets.indexOf(0, dest_end + 4)
  const validity_end = octets.indexOf(0, schedule_end + 1)
  if (!sends_receipts || validity_end >= end || (octets[validity_end + 1] & 3) !== 1) return
  answers.push(
    receipt(id, octets.subarray(source_at, source_end), octets.subarray(dest_at, dest_end)),
  )
}

/** A PDU whose body is one C-octet string, or no body. */
function pdu(command, sequence, text) {
  const hasBody =
    command !== (ENQUIRE_LINK | RESPONSE) >>> 0 && command !== (UNBIND | RESPONSE) >>> 0
  const length = hasBody && command !== RESPONSE ? 17 + text.length : 16
  const octets = Buffer.alloc(length)
  octets.writeUInt32BE(length, 0)
  octets.writeUInt32BE(command, 4)
  octets.writeUInt32BE(ROK, 8)
  octets.writeUInt32BE(sequence, 12)
  octets.write(text, 16, 'latin1')
  return octets
}

let receipts_sent = 0

/** A deliver_sm that reports a message as delivered (SMPP 3.4 appendix B). */
function receipt(id, source, dest) {
  receipts_sent += 1
  const text = `id:${id} sub:001 dlvrd:001 submit date:2601010000 done date:2601010000 stat:DELIVRD err:000 text:`
  const body = Buffer.concat([
    Buffer.from([0, 1, 1]),
    dest,
    Buffer.from([0, 1, 1]),
    source,
    Buffer.from([0, 4, 0, 0, 0, 0, 0, 0, 0, 0, text.length]),
    Buffer.from(text, 'latin1'),
  ])
  const head = Buffer.alloc(16)
  head.writeUInt32BE(16 + body.length, 0)
  head.writeUInt32BE(DELIVER_SM, 4)
  head.writeUInt32BE(receipts_sent % 0x7fffffff || 1, 12)
  return Buffer.concat([head, body])
}
