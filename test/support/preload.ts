import { useLongTimeouts } from './patience'

// Loaded before each test file (bunfig.toml).
useLongTimeouts()
