import { badge, h, time } from './dom.js'

const CHANNELS = { sms: 'SMS', whatsapp: 'WA', email: '@', voice: 'Call' }

/** The parts of a message's line in the list. */
export function messageLine({ channel, recipient, status, excerpt, created_at, livemode }) {
  return [
    h('span', { class: 'channel', 'data-channel': channel, title: channel }, CHANNELS[channel]),
    h('span', { class: 'who' }, recipient, livemode ? null : h('small', {}, ' test')),
    time(created_at),
    h('span', { class: 'excerpt' }, excerpt),
    badge(status),
  ]
}

/** The parts of a mail's line in the list. */
export function mailLine({ to, subject, at }) {
  return [
    h('span', { class: 'channel', 'data-channel': 'email' }, CHANNELS.email),
    h('span', { class: 'who' }, to),
    time(at),
    h('span', { class: 'excerpt' }, subject),
  ]
}
