% golden.m writes golden.txt, the values that golden_test.go compares with:
%
%   octave-cli --norc golden.m > golden.txt
%
% It shares no code with the package. Each line is: kind, arguments, results.
1;

% A linear congruential generator, so that the script gives the same on every
% version of Octave.
function u = uniform()
  persistent s;
  if isempty(s), s = 7; end
  s = mod(1103515245 * s + 12345, 2147483648);
  u = s / 2147483648;
end

function v = uniforms(d)
  v = zeros(1, d);
  for i = 1:d, v(i) = uniform(); end
end

function vec(v), printf(" %d", numel(v)); printf(" %.17g", v); end

% solve y q | k: the largest k with max(y + kq) <= 1, by vector division.
for i = 1:40
  d = 1 + floor(8 * uniform());
  y = uniforms(d); q = 0.001 + 0.5 * uniforms(d);
  printf("solve"); vec(y); vec(q);
  printf(" %.17g\n", min(min((1 - y) ./ q), 100));
end

% headroom y u | h
for i = 1:20
  d = 1 + floor(8 * uniform());
  y = uniforms(d); u = 0.01 + uniforms(d); u /= norm(u);
  printf("headroom"); vec(y); vec(u);
  printf(" %.17g\n", min((1 - y) ./ u));
end

% avail rule churn now measured usage capacity cost sd | pods
for i = 1:60
  d = 1 + floor(4 * uniform());
  rule = mod(i, 2); churn = uniform() < 0.5;
  now = floor(8 * uniform()); measured = floor(8 * uniform());
  y = 0.5 + 0.45 * uniforms(d); C = 1.2 * uniforms(d); c = 0.05 + 0.3 * uniforms(d); sd = 0.05 * uniforms(d);
  s = (1 - y) ./ (c + sd) + measured - now;
  m = C ./ (c + sd) - now;
  switch rule
    case 0, p = min([s, m]);
    case 1, if churn, p = min(m); else, p = min(s); end
  end
  printf("avail %d %d %d %d", rule, churn, now, measured);
  vec(y); vec(C); vec(c); vec(sd);
  printf(" %.17g\n", p);
end
