import { haveLongPatience } from './patience'

if (process.env.TEST_PATIENCE !== 'real') haveLongPatience()
await import('../../src/main')
