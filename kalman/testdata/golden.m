% golden.m writes golden.txt, the values that golden_test.go compares with, and with
% other names those of package sim/thesis:
%
%   octave-cli --norc golden.m centred > golden.txt
%   octave-cli --norc golden.m naive delta joint > ../../sim/thesis/testdata/estimators.txt
%
% It shares no code and, for "centred", not even the form with the package: the
% filter is the textbook one on the state (C, c) with a matrix P. Gates are off
% but in the sequences of gated().
1;

function [x, P] = kalman2(x, P, z, n, R)
  H = [1, -n];
  S = H * P * H' + R;
  K = P * H' / S;
  x = x + K * (z - H * x);
  P = (eye(2) - K * H) * P;
end

function P = drift(P, q, cap)
  P(2,2) += min(q, cap - P(2,2));
end

function sequence(id, method, z, n, prior, noise, ql, qc)
  cap = (prior / 2)^2;
  floorcost = prior / 8;
  printf("sequence %d %s %.17g %.17g %.17g %.17g 0 %d\n", id, method, prior, noise, ql, qc, numel(z));
  dv = 2 * noise;
  for i = 1:numel(z)
    if i == 1
      switch method
        case {"centred", "joint"}
          x = [z(1) + prior * n(1); prior];
          P = [noise + n(1)^2 * cap, n(1) * cap; n(1) * cap, cap];
        otherwise
          C = z(1) + prior * n(1); c = prior; pC = noise + n(1)^2 * cap; pc = cap;
      end
    else
      R = min(max(dv / 2, noise / 16), noise * 16);
      moved = n(i) != n(i-1);
      q = moved * qc * R;
      switch method
        case {"centred", "joint"}
          P(1,1) += ql * R;
          if moved, P = drift(P, q, cap); end
          [x, P] = kalman2(x, P, z(i), n(i), R);
        case "naive"
          pC += ql * R; pc += min(q, cap - pc);
          K = pC / (pC + R);
          C = max(C + K * (z(i) + c * n(i) - C), 0); pC *= 1 - K;
          K = pc * n(i) / (n(i)^2 * pc + R);
          c = max(c + K * (C - z(i) - n(i) * c), floorcost); pc *= 1 - K * n(i);
        case "delta"
          pC += ql * R; pc += min(q, cap - pc);
          d = n(i) - n(i-1); S = d^2 * pc + 2 * R;
          K = -d * pc / S;
          c = max(c + K * (z(i) - z(i-1) + c * d), floorcost); pc *= 1 + K * d;
          K = pC / (pC + R);
          C = max(C + K * (z(i) + c * n(i) - C), 0); pC *= 1 - K;
      end
      if !moved
        dv += 0.05 * ((z(i) - z(i-1))^2 - dv);
      end
    end
    switch method
      case {"centred", "joint"}
        out = [x(1), x(2), P(2,2)];
      otherwise
        out = [C, c, pc];
    end
    printf("%.17g %.17g %.17g %.17g %.17g\n", z(i), n(i), out);
  end
end

% gated is the filter on (C, c) with the default gates: nu^2/S above 9 five times
% in a row is a change; full from .98 a reading is a bound, nearly so from .93,
% and from .5 where the filter expects at least .93 and for five readings in a
% row, 60 after a full one.
function gated(id, method, z, n, prior, noise, ql, qc)
  cap = (prior / 2)^2;
  printf("sequence %d %s %.17g %.17g %.17g %.17g 1 %d\n", id, method, prior, noise, ql, qc, numel(z));
  started = false; out = 0; against = 0; x = [0; 0]; P = zeros(2);
  for i = 1:numel(z)
    full = z(i) <= 1 - 0.98;
    near = 1 - 0.98 + 0.05;
    if !started
      if !full
        x = [z(i) + prior * n(i); prior];
        P = [noise + n(i)^2 * cap, n(i) * cap; n(i) * cap, cap];
        dv = 2 * noise; lastz = z(i); lastn = n(i); started = true;
      end
    else
      if full || z(i) >= .5, against = 0; end
      expected = x(1) - n(i) * x(2);
      bound = false;
      if z(i) > expected
        bound = z(i) <= near;
        if !bound && z(i) < .5 && expected <= near && against < 60
          bound = true; against += 1;
        end
      end
      if !bound
        R = min(max(dv / 2, noise / 16), noise * 16);
        P(1,1) += ql * R;
        if n(i) != lastn, P = drift(P, qc * R, cap); end
        H = [1, -n(i)]; nu = z(i) - H * x; S = H * P * H' + R;
        changed = nu^2 > 9 * S; taken = true;
        if changed
          out += 1; taken = out >= 5;
          if taken
            away = n(i) - P(1,2) / P(2,2);
            share = away^2 * P(2,2) / S;
            P(1,1) += (nu^2 - S) * (1 - share);
            P = drift(P, P(2,2) * (nu^2 / S - 1) * share, cap);
          end
        end
        if taken
          [x, P] = kalman2(x, P, z(i), n(i), R);
          if n(i) == lastn && !changed, dv += 0.05 * ((z(i) - lastz)^2 - dv); end
          lastz = z(i); lastn = n(i); out = 0;
        end
      end
    end
    printf("%.17g %.17g %.17g %.17g %.17g\n", z(i), n(i), x(1), x(2), P(2,2));
  end
end

% A linear congruential generator, so that the script gives the same on every
% version of Octave.
function [u, s] = uniform(s)
  s = mod(1103515245 * s + 12345, 2147483648);
  u = s / 2147483648;
end

names = {"centred", "naive", "delta", "joint"};
seed = 42;
id = 0;
for kind = 1:4
  steps = 60; z = zeros(1, steps); n = zeros(1, steps); now = 3;
  for i = 1:steps
    [u, seed] = uniform(seed);
    [w, seed] = uniform(seed);
    [e, seed] = uniform(seed);
    if u < 0.35, now = min(max(now + sign(w - 0.5), 0), 6); end
    if kind == 4 && i > 20 && i < 45, now = 2; end
    cost = 0.08 + 0.02 * kind / 4 + 0.02 * i / steps;
    cap = 0.95 - 0.15 * (kind == 3 && i > 30);
    n(i) = now; z(i) = min(max(cap - cost * now + 0.03 * (e - 0.5), 0), 1);
  end
  for m = 1:numel(names)
    id += 1;
    if !any(strcmp(names{m}, argv())), continue; end
    sequence(id, names{m}, z, n, 0.1 + 0.02 * kind, 4e-4 / kind, 0.03 / kind, 0.01);
  end
end

% Jumps of the capacity and of the cost, and full stretches.
for kind = 1:4
  steps = 90; z = zeros(1, steps); n = zeros(1, steps); now = 3;
  for i = 1:steps
    [u, seed] = uniform(seed);
    [w, seed] = uniform(seed);
    [e, seed] = uniform(seed);
    if u < 0.35, now = min(max(now + sign(w - 0.5), 0), 6); end
    cost = 0.08 + 0.05 * (kind > 2 && i > 40);
    cap = 0.95 - 0.3 * (mod(kind, 2) == 1 && i > 60);
    n(i) = now; z(i) = min(max(cap - cost * now + 0.03 * (e - 0.5), 0), 1);
    if i > 20 && i < 26, z(i) = 0.01; end
    if i == 33, z(i) = 1; end
    if i > 50 && i < 57  % more pods than fit, read as full, nearly and not
      n(i) = 13 + mod(i, 3); z(i) = [0.01 0.04 0.2](1 + mod(i, 3));
    end
  end
  for m = {"centred", "joint"}
    id += 1;
    if !any(strcmp(m{1}, argv())), continue; end
    gated(id, m{1}, z, n, 0.1, 4e-4 / kind, 0.01, 0.01);
  end
end
